import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import {
  APICallError,
  type JSONSchema7,
  type LanguageModelMiddleware,
  UnsupportedFunctionalityError,
  type UIMessage,
} from 'ai';
import type { TierModel } from '../../agents/models/models.service.js';
import type { OutputSchemas } from '../../agents/output-schemas.js';
import type { RunnableAgent } from '../../agents/records/agent.js';
import { excessOf } from './answer-limits.js';
import { parseRecord } from '../../core/is-record.js';
import type { AnswerObject } from '../runs/records/run.entity.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import type { ConversationMessage } from '../files/model-files.js';
import type { ModelStepResult } from './model-step.js';
import { endsWithToolCalls } from './pending-tool-calls.js';
import type { RunAnswer } from './run-answer.js';
import { usableParts } from './usable-history.js';

/** The answer is not valid against the output schema of the agent. The message says why. */
export class OutputInvalidError extends Error {
  override readonly name = 'OutputInvalidError';
}

/** An answer that was compared with the schema: the object in it, or what is wrong with it. */
type CheckedAnswer = { readonly output: AnswerObject } | { readonly faults: string };

/** The statuses with which providers refuse a schema, or the format. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([400, 422]);
/** Halves of surrogate pairs and NUL characters, as JSON writes them. */
const REFUSED_ESCAPE = /\\u(?:d[89a-f]|0000)/i;
const LONGEST_FAULTS = 2_000;

/** The output schema of an agent during one attempt: how models are asked to keep to it, and whether they have. */
export class AnswerShape {
  private readonly schema: Record<string, unknown>;
  /** Models that have answered only by an instruction. */
  private readonly instructed = new WeakSet<LanguageModelV4>();
  private checked: { readonly text: string; readonly answer: CheckedAnswer } | undefined;
  /** The model was told what is wrong with its answer, and has given no valid one since. */
  isCorrecting = false;

  constructor(
    private readonly text: string,
    private readonly schemas: OutputSchemas,
    private readonly run: Pick<ClaimedRun, 'agentId' | 'organizationId'>,
    private readonly signal: AbortSignal,
  ) {
    this.schema = schemas.parse(text);
  }

  /** Undefined for an agent that answers freely. */
  static of(
    { outputSchema }: RunnableAgent,
    schemas: OutputSchemas,
    run: ClaimedRun,
    signal: AbortSignal,
  ): AnswerShape | undefined {
    return outputSchema === null ? undefined : new AnswerShape(outputSchema, schemas, run, signal);
  }

  /**
   * Compares an answer with the schema.
   * @throws OutputInvalidError if the schema cannot be used on it, which no other answer would change
   */
  async check(text: string): Promise<CheckedAnswer> {
    if (this.checked?.text !== text) this.checked = { text, answer: await this.compare(text) };
    if ('output' in this.checked.answer) this.isCorrecting = false;
    return this.checked.answer;
  }

  /**
   * Lets a model be called with the schema: by its SDK, or by an instruction if that cannot or the provider refuses.
   */
  asking(model: LanguageModelV4, { schemaOptions }: TierModel): LanguageModelMiddleware {
    return {
      specificationVersion: 'v4',
      wrapStream: async ({ params, model: next }) => {
        const instruct = (): PromiseLike<Awaited<ReturnType<LanguageModelV4['doStream']>>> =>
          next.doStream(this.withInstruction(params));
        if (schemaOptions === null || this.instructed.has(model)) return instruct();
        const responseFormat = { type: 'json', schema: this.schema as JSONSchema7 } as const;
        const providerOptions = { ...params.providerOptions, ...schemaOptions };
        try {
          return await next.doStream({ ...params, responseFormat, providerOptions });
        } catch (error) {
          if (this.signal.aborted || !mayRefuseSchema(error)) throw error;
          const result = await instruct();
          this.instructed.add(model);
          return result;
        }
      },
    };
  }

  private async compare(text: string): Promise<CheckedAnswer> {
    const value = parseRecord(text);
    if (value === undefined) return { faults: 'It is not a JSON object, or there is other text around it.' };
    const excess = excessOf(value);
    if (excess !== undefined) return { faults: `It is ${excess}.` };
    // Escaped backslashes could pretend to be an escape.
    if (REFUSED_ESCAPE.test(JSON.stringify(value).replaceAll('\\\\', ''))) {
      return { faults: 'Its texts must not have NUL characters or halves of surrogate pairs.' };
    }
    const { agentId: id, organizationId } = this.run;
    const faults = await this.schemas.faultsOf(this.schema, value, { id, organizationId }, this.signal);
    if (typeof faults === 'string') throw new OutputInvalidError(`The answer cannot be checked. ${faults}`);
    if (faults.length === 0) return { output: value };
    const list = faults.map(({ path, message }) => `${path === '' ? 'the object' : path} ${message}`).join('; ');
    return { faults: `${list.slice(0, LONGEST_FAULTS).toWellFormed()}.` };
  }

  /** The system message comes first, and there is at most one. */
  private withInstruction(params: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
    const instruction =
      'Your last answer, when you call no more tools, must be one JSON object and nothing else: no other text before ' +
      `or after it, no code fence. It must be valid against this JSON Schema:\n${this.text}`;
    const [first, ...rest] = params.prompt;
    const prompt: typeof params.prompt =
      first?.role === 'system'
        ? [{ ...first, content: `${first.content}\n\n${instruction}` }, ...rest]
        : [{ role: 'system', content: instruction }, ...params.prompt];
    return { ...params, prompt };
  }
}

function mayRefuseSchema(error: unknown): boolean {
  if (UnsupportedFunctionalityError.isInstance(error)) return true;
  return APICallError.isInstance(error) && REFUSALS.has(error.statusCode);
}

/**
 * Makes a step of an agent with an output schema. If it is the last one and its answer does not fit, the answer is
 * taken back, and the model is called once more with what is wrong with it.
 * @param step.call calls the model; the messages follow the answer so far
 * @param step.takeBack takes the open step of the answer back
 * @throws OutputInvalidError if the next answer does not fit either, also after further steps; it stays in the
 * transcript
 */
export async function makeShapedStep(
  shape: AnswerShape,
  answer: RunAnswer,
  step: {
    call(correction: readonly ConversationMessage[]): Promise<ModelStepResult>;
    takeBack(): Promise<void>;
  },
  correction: readonly ConversationMessage[] = [],
): Promise<ModelStepResult> {
  const result = await step.call(correction).catch((error: unknown) => {
    // After an interruption, the run goes on with another message.
    shape.isCorrecting = false;
    throw error;
  });
  if (endsWithToolCalls(answer.parts())) return result;
  const text = lastText(answer.parts());
  const checked = await shape.check(text).catch((error: unknown) => {
    answer.countUsage(result.usage);
    throw error;
  });
  if ('output' in checked) return result;
  answer.countUsage(result.usage);
  if (shape.isCorrecting) throw unfit(checked.faults);
  shape.isCorrecting = true;
  await step.takeBack();
  return makeShapedStep(shape, answer, step, correctionOf(text, checked.faults));
}

/**
 * The object of an answer after its last step.
 * @throws OutputInvalidError if there is none
 */
export async function requireOutput(shape: AnswerShape, parts: UIMessage['parts']): Promise<AnswerObject> {
  if (endsWithToolCalls(parts)) throw new OutputInvalidError('The run reached its limit of steps before its answer.');
  // An earlier attempt can have checked it against another schema.
  const checked = await shape.check(lastText(parts));
  if ('output' in checked) return checked.output;
  throw unfit(checked.faults);
}

function unfit(faults: string): OutputInvalidError {
  return new OutputInvalidError(`The answer does not fit the output schema of the agent. ${faults}`);
}

/** The text of the last step. */
function lastText(parts: UIMessage['parts']): string {
  const start = parts.findLastIndex(({ type }) => type === 'step-start');
  return parts
    .slice(start + 1)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');
}

function correctionOf(text: string, faults: string): ConversationMessage[] {
  const request = `Your answer was not accepted. ${faults} Answer again, with the corrected JSON object only.`;
  const answered = usableParts([{ type: 'text', text }]);
  const asked = usableParts([{ type: 'text', text: request }]);
  const user: ConversationMessage = { id: '', role: 'user', parts: asked, isRequest: false };
  return answered.length === 0 ? [user] : [{ id: '', role: 'assistant', parts: answered, isRequest: false }, user];
}
