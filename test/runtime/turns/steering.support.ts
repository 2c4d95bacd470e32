import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import type { UIMessageChunk } from 'ai';
import { type McpUpstream, startMcpUpstream } from '../../../src/boot/testing/mcp-upstream.js';
import type { ModelToolCall } from '../../../src/boot/testing/model-server.js';
import { connect, createAgent, type OpenedStream, type PostOptions, ThreadClient } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import type { Tenant } from '../../support/tenant.js';
import { SCRIPTED, useScriptedModel } from '../approvals/approvals.support.js';

/** A call of the tool that is held. */
export const HELD_CALL: ModelToolCall = { name: 'hold', arguments: {} };
export const HOLD = { kind: 'tool-calls' as const, calls: [HELD_CALL] };

/** A run whose tool call is held. */
interface HeldRun {
  readonly thread: ThreadClient;
  readonly taskId: string;
  readonly stream: OpenedStream;
}

interface SteeringApp {
  readonly app: Tenant;
  readonly model: FakeOpenAI;
  readonly upstream: McpUpstream;
  readonly agentId: string;
  readonly connectionId: string;
  /** Lets the calls of `hold` end. */
  release(): void;
  /** Posts a message to a new thread, and waits until the tool is called. */
  startHeld(options?: PostOptions): Promise<HeldRun>;
  /** The conversation of the newest request to the model: roles and texts. */
  asked(): string[];
}

/** Starts a scripted model, and an upstream whose tool `hold` waits, for the spec file that calls this. */
export function useSteeringApp(start: () => Promise<Tenant>): SteeringApp {
  let gate = Promise.withResolvers<void>();
  const own = {
    release: () => gate.resolve(),
    async startHeld(options?: PostOptions): Promise<HeldRun> {
      own.model.script(HOLD);
      const thread = await ThreadClient.create(own.app, own.agentId);
      const stream = await thread.stream();
      const taskId = await thread.postMessage('Which one?', { ...SCRIPTED, ...options });
      await eventually(() => expect(own.upstream.calls).toHaveLength(1));
      return { thread, taskId, stream };
    },
    asked: () => (own.model.requests.at(-1)?.body.messages ?? []).map(described),
  } as { -readonly [Key in keyof SteeringApp]: SteeringApp[Key] };
  beforeAll(async () => {
    const hold = { handler: (_: object, signal: AbortSignal) => untilReleased(gate.promise, signal) };
    [own.app, own.model, own.upstream] = await Promise.all([start(), startFakeOpenAI(), startMcpUpstream({ hold })]);
    await useScriptedModel(own.app, own.model);
    own.connectionId = await connect(own.app, own.upstream.url, 'Tools');
    own.agentId = await createAgent(own.app, [own.connectionId]);
  });
  beforeEach(() => {
    gate = Promise.withResolvers();
    own.upstream.calls.length = 0;
    own.model.requests.length = 0;
  });
  afterEach(() => gate.resolve());
  afterAll(async () => {
    await own.app?.close();
    await own.model?.close();
    await own.upstream?.close();
  });
  return own;
}

async function untilReleased(released: Promise<void>, signal: AbortSignal): Promise<string> {
  const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
  await Promise.race([released, aborted]);
  return 'held';
}

function described({ role, content, tool_calls }: FakeOpenAI['requests'][number]['body']['messages'][number]): string {
  const text = typeof content === 'string' ? content : '';
  return `${role}: ${tool_calls === undefined ? text : `${text}(calls)`}`;
}

/** A steer that has to be taken; returns its answer. */
export async function steer(
  thread: ThreadClient,
  text: string,
  { interrupt, ...options }: PostOptions & { interrupt?: boolean } = {},
): Promise<{ taskId: string; steered: boolean }> {
  const headers = options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey };
  const query = interrupt === undefined ? {} : { interrupt };
  const answer = await thread.steer(thread.request(text, options), { headers, query });
  expect({ status: answer.status, body: answer.body as unknown }).toEqual({
    status: 202,
    body: { taskId: expect.any(String), steered: expect.any(Boolean) },
  });
  return answer.body as { taskId: string; steered: boolean };
}

/** The kinds of the chunks, each once in a row. */
export function kindsOf(chunks: readonly UIMessageChunk[]): string[] {
  return chunks.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
}

/** Reads the stream until a chunk of this kind has come. */
export async function untilChunk(thread: ThreadClient, taskId: string, type: string): Promise<void> {
  const stream = await thread.stream({ query: { taskId } });
  for await (const { data } of stream.frames()) if (data.includes(`"type":"${type}"`)) break;
  stream.close();
}
