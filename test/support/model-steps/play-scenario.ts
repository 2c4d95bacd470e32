import type { LanguageModelMiddleware, UIMessage, UIMessageChunk } from 'ai';
import type { AgentTool } from '../../../src/agents/agent-toolset.js';
import { isRecord } from '../../../src/core/is-record.js';
import type { RunEventPublisher } from '../../../src/runtime/events/run-event-publisher.js';
import type { ClaimedRun } from '../../../src/runtime/runs/records/new-run.js';
import type { RunExecution } from '../../../src/runtime/runs/records/run-execution.js';
import { describeRunFailure } from '../../../src/runtime/worker/run-failure.js';
import { MessageFolder } from '../../../src/runtime/worker/message-folder.js';
import { streamModelStep } from '../../../src/runtime/worker/model-step.js';
import { toToolSet } from '../../../src/runtime/worker/model-stream/model-request.js';
import { CallRecorder } from '../../../src/runtime/worker/recording/call-recorder.js';
import { RunAnswer } from '../../../src/runtime/worker/run-answer.js';
import type { RunFiles } from '../../../src/runtime/worker/run-files.js';
import type { Scenario } from './scenario-parts.js';
import { scriptedModel } from './scripted-model.js';

const SUM = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
const TOOLS = toToolSet(
  [
    { name: 'echo', definition: { description: 'Says it again.', inputSchema: { type: 'object' } } },
    { name: 'add', definition: { inputSchema: SUM } },
  ].map((tool) => tool as unknown as AgentTool),
);

/** Asks for JSON, as a model of an agent with an output schema is asked. */
const ASKING: LanguageModelMiddleware = {
  specificationVersion: 'v4',
  wrapStream: ({ params, model }) => model.doStream({ ...params, responseFormat: { type: 'json' } }),
};

/** What a step did, as JSON, with everything random replaced. */
export interface Played {
  /** The answer's stream, and what else happened meanwhile. */
  readonly events: unknown;
  readonly parts: unknown;
  readonly end: unknown;
  /** What each call of the model was made with. */
  readonly asked: unknown;
  /** How many streams that hang were not given up. */
  readonly leftOpen: unknown;
  readonly recorded?: unknown;
}

/** Plays one model call of a run, without a service. */
export async function playScenario(
  { calls, settings = {} }: Scenario,
  messages: readonly UIMessage[],
  supportedUrls?: Record<string, RegExp[]>,
): Promise<Played> {
  const stopped = new AbortController();
  const scripted = scriptedModel(calls, () => stopped.abort(new Error('stopped')), supportedUrls);
  const events: unknown[] = [];
  const { answer, folder } = answerInto(events);
  if (settings.isOpen === true) await answer.append({ type: 'start-step' });
  const recorder = settings.isRecorded === true ? new CallRecorder('org', 'full', null) : undefined;
  const end = await streamModelStep(
    {
      model: scripted.model,
      asking: settings.isShaped === true ? ASKING : undefined,
      maxOutputTokens: settings.maxOutputTokens ?? null,
      firstChunkTimeoutMs: settings.firstChunkTimeoutMs ?? Infinity,
      hasSubstitute: settings.hasSubstitute ?? false,
      instructions: settings.instructions ?? '',
      messages,
      tools: TOOLS,
      temperature: settings.temperature ?? null,
      files: storedFiles(events),
      recorder,
      signal: stopped.signal,
    },
    answer,
    { onFirstChunk: () => events.push('first chunk'), onRetry: () => events.push('retry') },
  ).catch((error: unknown) => ({ thrown: nameOf(error), failure: describeRunFailure(error) }));
  answer.close();
  const { sent, leftOpen } = scripted;
  const asked = sent.map(({ abortSignal, ...options }) =>
    inOrder({ ...options, isAbortable: abortSignal !== undefined }),
  );
  const recorded = recorder?.toJson(null);
  return withoutChance({
    events,
    parts: folder.parts(),
    end,
    asked,
    leftOpen: leftOpen.size,
    ...(recorded !== undefined && { recorded: timeless(recorded) }),
  });
}

function answerInto(events: unknown[]): { answer: RunAnswer; folder: MessageFolder } {
  const run = { organizationId: 'org', attempt: 1, step: 0, model: null, usage: null, modelCalls: [], costUsd: null };
  const publisher: Partial<RunEventPublisher> = {
    push: async (chunk: UIMessageChunk) => void events.push(chunk),
    flush: async () => void events.push('flush'),
  };
  const execution: Partial<RunExecution> = {
    saveAnswer: async () => ({ cancelRequested: false, hasSteers: false, hasSpendLimit: false }),
  };
  const folder = new MessageFolder();
  const answer = new RunAnswer(
    run as unknown as ClaimedRun,
    folder,
    publisher as RunEventPublisher,
    execution as RunExecution,
  );
  return { answer, folder };
}

function storedFiles(events: unknown[]): RunFiles {
  const files: Pick<RunFiles, 'store'> = {
    store: async (file) => {
      events.push({ stored: file });
      return { part: { type: 'file', url: '/files/1', mediaType: file.mediaType }, size: 1 };
    },
  };
  return files as RunFiles;
}

/** The options of a call have no order: the provider's package makes a request of them. */
function inOrder(options: object): object {
  return Object.fromEntries(Object.entries(options).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The kind of an error, and what tells it from others of its kind. */
function nameOf(error: unknown): unknown {
  if (!isRecord(error)) return error;
  const { name, message, statusCode, isRetryable, type, code } = error;
  return { name, message, statusCode, isRetryable, type, code };
}

function timeless(recorded: string): unknown {
  return JSON.parse(recorded.replace(/"started_at":"[^"]*","duration_ms":\d+,/g, ''));
}

const RANDOM = /aitxt-[A-Za-z0-9]{24}|(?<=call_)[0-9a-z-]{26,36}|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g;

/** As JSON, like everything that is streamed or stored, with random ids in the order in which they come. */
function withoutChance(value: Played): Played {
  const ids = new Map<string, string>();
  const json = JSON.stringify(value).replace(RANDOM, (id) => {
    ids.set(id, ids.get(id) ?? `<${ids.size + 1}>`);
    return ids.get(id) as string;
  });
  return JSON.parse(json) as Played;
}
