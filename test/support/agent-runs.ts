import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { type UIMessageChunk, uiMessageChunkSchema } from 'ai';
import supertest from 'supertest';
import type { RunItem } from '../../src/runtime/runs/records/run.dto.js';
import type { MessageItem, MessagePage, ThreadItem } from '../../src/runtime/threads/thread.dto.js';
import {
  type CollectedStream,
  type OpenedStream,
  openStream,
  PATIENCE_MS,
  type StreamOptions,
} from '../../src/boot/testing/thread-stream.js';
import { eventually } from './eventually.js';
import type { Tenant } from './tenant.js';
import { fold } from './fold-message.js';

export {
  type CollectedStream,
  type OpenedStream,
  openStream,
  type StreamFrame,
  type StreamOptions,
  textOf,
} from '../../src/boot/testing/thread-stream.js';

/** Where requests go, and with which key. A `Tenant` is one. */
export interface Endpoint {
  url: string;
  org: string;
  apiKey: string;
}

/** A message that the built-in model answers with silence, for so long that only a cancellation ends the run. */
export const LONG = '/wait 600000';

export interface PostOptions {
  tier?: string;
  temperature?: number;
  /** The id of the user message. */
  messageId?: string;
  system?: string[];
  idempotencyKey?: string;
}

/** Connects an MCP server; returns the connection's id. */
export async function connect(app: Tenant, url: string, title = 'Upstream'): Promise<string> {
  const data = { title, connection_type: 'HTTP', connection_url: url };
  return (await succeed<{ item: { id: string } }>(app, 'COLLECTION_CONNECTIONS_CREATE', { data })).item.id;
}

/** Creates an agent over these connections; returns its id. */
export async function createAgent(
  app: Tenant,
  connectionIds: readonly string[] = [],
  data: object = {},
): Promise<string> {
  const connections = connectionIds.map((connection_id) => ({ connection_id, selected_tools: null }));
  const agent = { title: 'Agent', connections, ...data };
  return (await succeed<{ item: { id: string } }>(app, 'COLLECTION_VIRTUAL_MCP_CREATE', { data: agent })).item.id;
}

/**
 * Lets a model of the server, which speaks OpenAI's API, answer in a tier.
 * @param model as MODEL_TIERS_SET takes it
 * @param provider more of what AI_PROVIDER_CREATE takes
 */
export async function serveTier(
  app: Tenant,
  tier: string,
  { baseUrl }: { readonly baseUrl: string },
  model: object,
  provider: object = {},
): Promise<void> {
  const data = { title: 'Fake', kind: 'openai-compatible', base_url: baseUrl, ...provider };
  const { item } = await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data });
  await succeed(app, 'MODEL_TIERS_SET', { data: { [tier]: { provider_id: item.id, ...model } } });
}

/** Creates a thread of the agent, under an id of the caller's if one is given; returns its id. */
export async function createThread(app: Tenant, agentId: string, id?: string): Promise<string> {
  const data = { title: 'Thread', virtual_mcp_id: agentId, ...(id === undefined ? {} : { id }) };
  return (await succeed<{ item: ThreadItem }>(app, 'COLLECTION_THREADS_CREATE', { data })).item.id;
}

/** Calls a management tool that has to succeed. */
export async function succeed<T>(app: Tenant, name: string, body: object): Promise<T> {
  const answer = await app.tool(name, body);
  if (answer.status !== 200) throw new Error(`${name} answered ${answer.status}: ${answer.text}`);
  return answer.body as T;
}

/** One thread as its caller sees it. */
export class ThreadClient {
  constructor(
    private readonly app: Tenant,
    readonly agentId: string,
    readonly id: string,
  ) {}

  /** A new thread. */
  static async create(app: Tenant, agentId: string, id?: string): Promise<ThreadClient> {
    return new ThreadClient(app, agentId, await createThread(app, agentId, id));
  }

  /** Sends any body, with any key. */
  post(body: string | object, { key = this.app.apiKey, headers = {} } = {}): supertest.Test {
    return supertest(this.app.url)
      .post(`/api/${this.app.org}/agent-runtime/threads/${this.id}/messages`)
      .set({ authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers })
      .send(body);
  }

  /** Posts a user message that has to be taken; returns the taskId. */
  async postMessage(text: string, options: PostOptions = {}): Promise<string> {
    const headers = options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey };
    const answer = await this.post(this.request(text, options), { headers });
    expect({ status: answer.status, body: answer.body as unknown }).toEqual({
      status: 202,
      body: { taskId: expect.any(String) },
    });
    return (answer.body as { taskId: string }).taskId;
  }

  /** The body of a run request. */
  request(text: string, { tier, temperature, messageId, system = [] }: PostOptions = {}): object {
    return {
      messages: [
        ...system.map((line) => ({ role: 'system', parts: [{ type: 'text', text: line }] })),
        { ...(messageId && { id: messageId }), role: 'user', parts: [{ type: 'text', text }] },
      ],
      agent: { id: this.agentId },
      ...(tier !== undefined && { tier }),
      ...(temperature !== undefined && { temperature }),
    };
  }

  /** Adds a message to the run that is under way. Sends any body, with any key. */
  steer(
    body: string | object,
    { key = this.app.apiKey, headers = {}, query = {} }: { key?: string; headers?: object; query?: object } = {},
  ): supertest.Test {
    return supertest(this.app.url)
      .post(`/api/${this.app.org}/agent-runtime/threads/${this.id}/steer`)
      .query(query)
      .set({ authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers })
      .send(body);
  }

  /** Cancels one run, or everything on the thread. */
  cancel(taskId?: string): supertest.Test {
    return supertest(this.app.url)
      .post(`/api/${this.app.org}/agent-runtime/threads/${this.id}/cancel`)
      .set('authorization', `Bearer ${this.app.apiKey}`)
      .send(taskId === undefined ? {} : { taskId });
  }

  stream(options: StreamOptions = {}): Promise<OpenedStream> {
    return openStream(this.app.url, this.app.org, this.id, this.app.apiKey, options);
  }

  /** Reads the whole stream of one run. */
  async collect(taskId: string, timeoutMs = PATIENCE_MS): Promise<CollectedStream> {
    return (await this.stream({ query: { taskId } })).collectUntilDone(timeoutMs);
  }

  /** Opens the stream, posts, and reads to the end. */
  async ask(text: string, options: PostOptions = {}): Promise<CollectedStream & { taskId: string }> {
    const stream = await this.stream();
    const taskId = await this.postMessage(text, options);
    return { taskId, ...(await stream.collectUntilDone()) };
  }

  async status(): Promise<string> {
    return (await succeed<{ item: ThreadItem }>(this.app, 'COLLECTION_THREADS_GET', { id: this.id })).item.status;
  }

  async messages(): Promise<MessageItem[]> {
    const messages: MessageItem[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const input = { thread_id: this.id, limit: 1000, ...(cursor !== undefined && { cursor }) };
      const page: MessagePage = await succeed(this.app, 'COLLECTION_THREAD_MESSAGES_LIST', input);
      messages.push(...page.items);
      cursor = page.nextCursor;
    }
    return messages;
  }

  /** The stored answer of a run. */
  async answer(taskId: string): Promise<MessageItem> {
    const found = (await this.messages()).filter(
      ({ role, metadata }) => role === 'assistant' && metadata['taskId'] === taskId,
    );
    expect(found).toHaveLength(1);
    return found[0] as MessageItem;
  }

  async run(taskId: string): Promise<RunItem> {
    return (await succeed<{ item: RunItem }>(this.app, 'RUN_GET', { id: taskId })).item;
  }

  /** Polls until the run is in one of these states. */
  async waitFor(taskId: string, ...statuses: RunItem['status'][]): Promise<RunItem> {
    return eventually(async () => {
      const run = await this.run(taskId);
      expect(statuses).toContain(run.status);
      return run;
    });
  }

  /**
   * What every run must hold: ids without gap or repeat, chunks that a client accepts, and a stream that folds into
   * exactly the stored message.
   */
  async expectWhole(taskId: string, { ids, chunks }: CollectedStream): Promise<MessageItem> {
    expect(numbersIn(ids)).toEqual(chunks.map((_, i) => `${taskId}:${i + 1}`));
    await this.expectAnswer(taskId, { ids, chunks });
    return this.answer(taskId);
  }

  /**
   * What holds whatever the stream's frames went through: no id twice, chunks that a client accepts, and a stream that
   * folds into exactly the stored message.
   */
  async expectAnswer(taskId: string, { ids, chunks }: CollectedStream): Promise<void> {
    const named = ids.filter((id) => id !== '');
    expect(new Set(named).size).toBe(named.length);
    expect(named.filter((id) => !id.startsWith(`${taskId}:`))).toEqual([]);
    const stored = await this.answer(taskId);
    expect(chunks[0]).toMatchObject({ type: 'start', messageId: stored.id, messageMetadata: { taskId } });
    await expectValid(chunks);
    const { id, role, parts, metadata } = stored;
    expect(await fold(chunks)).toEqual({ id, role, parts: parts.map(unsigned), metadata });
  }
}

/** Frame ids without what tells the frames of one attempt from those of another: `<taskId>:<n>`. */
export function numbersIn(ids: readonly string[]): string[] {
  return ids.map((id) => id.split('.', 1)[0] ?? '');
}

/** Checks every chunk against the schema by which the AI SDK's clients read a stream. */
async function expectValid(chunks: readonly UIMessageChunk[]): Promise<void> {
  const { validate } = uiMessageChunkSchema();
  for (const chunk of chunks) expect({ chunk, ...(await validate?.(chunk)) }).toMatchObject({ success: true });
}

/** An id that nothing has yet. */
export function unusedId(): string {
  return randomUUID();
}

/** A part as it is stored: lists of messages add signatures to the addresses of files. */
export function unsigned<Part extends object>(part: Part): Part {
  return 'url' in part ? { ...part, url: String(part.url).replace(/\/content\?.*$/, '') } : part;
}
