import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import {
  convertToModelMessages,
  dynamicTool,
  jsonSchema,
  type JSONSchema7,
  type ModelMessage,
  type ToolSet,
  type UIMessage,
  UnsupportedFunctionalityError,
} from 'ai';
// What `streamText` prepares a request with. The package calls it internal: its version is exact, and the suite of
// `model-step.spec.ts` compares whole requests.
import { convertToLanguageModelPrompt, prepareTools, standardizePrompt } from 'ai/internal';
import type { AgentTool } from '../../../agents/agent-toolset.js';
import { toModelOutput } from '../tool-output.js';

/** Providers reject oversized requests. The limit keeps one long description from failing every run of an agent. */
const MAX_DESCRIPTION_LENGTH = 10_000;

/** What a model is asked. */
interface ModelQuestion {
  readonly instructions: string;
  /** The conversation and the answer so far. */
  readonly messages: readonly UIMessage[];
  readonly tools: ToolSet;
  /** Null for that of the model itself, as the limit of output tokens. */
  readonly temperature: number | null;
  readonly maxOutputTokens: number | null;
}

/**
 * The request that asks a model.
 * @throws InvalidPromptError without a message; UnsupportedFunctionalityError for a file at an address that its
 * provider does not take
 */
export async function requestTo(
  model: LanguageModelV4,
  { instructions, messages, tools, temperature, maxOutputTokens }: ModelQuestion,
  abortSignal: AbortSignal,
): Promise<LanguageModelV4CallOptions> {
  const prompt = await standardizePrompt({
    ...(instructions === '' ? {} : { instructions }),
    messages: await toModelMessages(messages, tools),
  });
  const functions = await prepareTools({ tools });
  return {
    ...(maxOutputTokens === null ? {} : { maxOutputTokens }),
    ...(temperature === null ? {} : { temperature }),
    ...(functions === undefined ? {} : { tools: functions }),
    toolChoice: { type: 'auto' },
    prompt: await convertToLanguageModelPrompt({
      prompt,
      supportedUrls: await model.supportedUrls,
      download: refuseDownloads,
      abortSignal,
    }),
    includeRawChunks: false,
    abortSignal,
  };
}

/** The service fetches nothing that a conversation names: stored files have been put in before. */
async function refuseDownloads(files: readonly { isUrlSupportedByModel: boolean }[]): Promise<null[]> {
  if (files.every(({ isUrlSupportedByModel }) => isUrlSupportedByModel)) return files.map(() => null);
  throw new UnsupportedFunctionalityError({ functionality: 'files at addresses' });
}

/** Converts the tools for the SDK: all that a call could reach, including those that cannot be listed now. */
export function toToolSet(tools: readonly AgentTool[]): ToolSet {
  return Object.fromEntries(
    tools
      .filter(({ isInactive }) => !isInactive)
      .map((tool) => [
        tool.name,
        dynamicTool({
          description: descriptionOf(tool),
          inputSchema: jsonSchema((tool.definition?.inputSchema ?? { type: 'object' }) as JSONSchema7),
          toModelOutput: ({ output }) => toModelOutput(output),
        }),
      ]),
  );
}

function descriptionOf({ definition, fault }: AgentTool): string {
  if (fault !== undefined) return `The connection "${fault.title}" is not available right now.`;
  return (definition?.description ?? '').slice(0, MAX_DESCRIPTION_LENGTH).toWellFormed();
}

/** Calls without an outcome are omitted, because models reject them. */
function toModelMessages(messages: readonly UIMessage[], tools: ToolSet): Promise<ModelMessage[]> {
  const conversation = messages.map((message) => ({ ...message, parts: message.parts.map(withoutApproval) }));
  return convertToModelMessages(
    conversation.filter((message) => message.role !== 'system' && message.parts.length > 0),
    { tools: { ...earlierTools(conversation), ...tools }, ignoreIncompleteToolCalls: true },
  );
}

/** A tool call as if it had needed no approval: a model learns what came of it, and why. */
function withoutApproval(part: UIMessage['parts'][number]): UIMessage['parts'][number] {
  if (part.type !== 'dynamic-tool' || part.approval === undefined) return part;
  const { approval, ...call } = part;
  switch (call.state) {
    case 'approval-requested':
    case 'approval-responded':
      return { ...call, state: 'input-available' };
    case 'output-denied': {
      const reason = approval.reason === undefined ? '' : ` The reason: ${approval.reason}`;
      return {
        ...call,
        state: 'output-error',
        errorText: `The call was not made, because it was not approved.${reason}`,
      };
    }
    default:
      return call;
  }
}

/**
 * The tools that the conversation called: outputs of tools that the agent no longer has are converted like all others.
 */
function earlierTools(conversation: readonly Pick<UIMessage, 'parts'>[]): ToolSet {
  const names = conversation.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'dynamic-tool' ? [part.toolName] : [])),
  );
  return Object.fromEntries(names.map((name) => [name, EARLIER_TOOL]));
}

const EARLIER_TOOL = dynamicTool({
  inputSchema: jsonSchema({ type: 'object' }),
  toModelOutput: ({ output }) => toModelOutput(output),
});
