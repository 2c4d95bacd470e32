import type {
  FileItem,
  ListItem,
  ListToolName,
  RunRequest,
  RunResult,
  SteerAccepted,
  SteerRequest,
  ToolInput,
  ToolName,
  ToolOutput,
} from './api.js';
import { filePart, Files } from './files.js';
import { type CallOptions, Http, type SignalboxOptions } from './http.js';
import { RunStream, type StreamPosition } from './run-stream.js';

export interface RunOptions extends CallOptions {
  /** Requests that repeat this key within 24 hours return the same run. Without it, the client makes one up. */
  readonly idempotencyKey?: string;
}

/** A message and its agent. `text` is short for one user message. */
export type RunInput = RunRequest | (Omit<RunRequest, 'messages' | 'agent'> & UserMessage);

/** A message and its agent, for a run that is under way. */
export type SteerInput = SteerRequest | UserMessage;

interface UserMessage {
  readonly agentId: string;
  readonly text: string;
  /** Uploaded files, which the message has ahead of its text. */
  readonly files?: readonly FileItem[];
}

/** The longest wait of one request. Longer waits are several requests. */
const WAIT_S = 60;
const OPEN = new Set(['queued', 'running']);
const EVENT_STREAM = { accept: 'text/event-stream' };

/**
 * Drives agents and calls management tools. Requests that may be repeated are repeated after network failures and
 * temporary refusals; a message carries an idempotency key, so it is never answered twice.
 *
 * Every method throws `SignalboxError` for a refused request, and the error of `fetch` if there is no response.
 */
export class Signalbox {
  readonly #http: Http;
  readonly files: Files;

  constructor(options: SignalboxOptions) {
    this.#http = new Http(options);
    this.files = new Files(this.#http);
  }

  /** Calls a management tool: `POST /api/:org/tools/:NAME`. */
  async tool<Name extends ToolName>(
    name: Name,
    input: ToolInput<Name>,
    { signal }: CallOptions = {},
  ): Promise<ToolOutput<Name>> {
    const isRepeatable = /_(?:GET|LIST|STATS)$/.test(name);
    const response = await this.#http.send({
      method: 'POST',
      path: `tools/${name}`,
      body: input,
      signal,
      isRepeatable,
    });
    return (await response.json()) as ToolOutput<Name>;
  }

  /** Yields every item of a list, page by page. */
  async *list<Name extends ListToolName>(
    name: Name,
    input: ToolInput<Name>,
    options: CallOptions = {},
  ): AsyncGenerator<ListItem<Name>, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const page = (await this.tool(
        name,
        { ...(input as object), ...(cursor ? { cursor } : {}) } as ToolInput<Name>,
        options,
      )) as { items: ListItem<Name>[]; nextCursor?: string | null };
      yield* page.items;
      cursor = page.nextCursor;
    } while (cursor);
  }

  /** Posts a message. The run continues whether or not anybody reads its answer. */
  async post(threadId: string, input: RunInput, options: RunOptions = {}): Promise<{ taskId: string }> {
    const response = await this.#turn(`${threadPath(threadId)}/messages`, requestOf(input), {}, options);
    return (await response.json()) as { taskId: string };
  }

  /** Posts a message and waits for the end of its run, or until the run waits for an approval. */
  async ask<Output extends object = Record<string, unknown>>(
    threadId: string,
    input: RunInput,
    options: RunOptions = {},
  ): Promise<RunResult<Output>> {
    const response = await this.#turn(
      `${threadPath(threadId)}/messages`,
      requestOf(input),
      { prefer: `wait=${WAIT_S}` },
      options,
    );
    const answer = (await response.json()) as RunResult<Output>;
    return response.status === 200 ? answer : this.wait<Output>(answer.taskId, options);
  }

  /** Posts a message and streams the answer. Resolves when the message is accepted. */
  async stream(threadId: string, input: RunInput, options: RunOptions = {}): Promise<RunStream> {
    return this.#stream(
      threadId,
      await this.#turn(`${threadPath(threadId)}/messages`, requestOf(input), EVENT_STREAM, options),
      options,
    );
  }

  /**
   * Adds a message to the run that is under way. Without one, or if it ends first, the message gets a run of its own.
   * @param options.interrupt ends the current step of the run first
   */
  async steer(
    threadId: string,
    input: SteerInput,
    { interrupt = false, ...options }: RunOptions & { readonly interrupt?: boolean } = {},
  ): Promise<SteerAccepted> {
    const path = `${threadPath(threadId)}/steer${interrupt ? '?interrupt=true' : ''}`;
    return (await (await this.#turn(path, requestOf(input), {}, options)).json()) as SteerAccepted;
  }

  /**
   * Answers a question again, and streams that answer.
   * @param messageId of the answer or its question; by default the last
   */
  async regenerate(threadId: string, messageId?: string, options: RunOptions = {}): Promise<RunStream> {
    const body = messageId === undefined ? {} : { messageId };
    return this.#stream(
      threadId,
      await this.#turn(`${threadPath(threadId)}/regenerate`, body, EVENT_STREAM, options),
      options,
    );
  }

  /**
   * Streams a run from its beginning, or from `lastEventId`; without `taskId` the thread's current run, or its next
   * one.
   */
  async watch(
    threadId: string,
    {
      taskId,
      lastEventId,
      signal,
    }: CallOptions & { readonly taskId?: string | undefined; readonly lastEventId?: string | undefined } = {},
  ): Promise<RunStream> {
    return this.#stream(threadId, await this.#openStream(threadId, { taskId, lastEventId }, { signal }), {
      signal,
      lastEventId,
    });
  }

  /** Streams the thread's current run from its beginning. @returns undefined if there is none */
  async resume(threadId: string, { signal }: CallOptions = {}): Promise<RunStream | undefined> {
    const nothing = { taskId: undefined, lastEventId: undefined };
    const response = await this.#openStream(threadId, nothing, { signal, ifRunning: true });
    return response.status === 204 ? undefined : this.#stream(threadId, response, { signal });
  }

  /** What a run has come to. @param waitSeconds waits that long for its end, 60 at most */
  async result<Output extends object = Record<string, unknown>>(
    taskId: string,
    { waitSeconds = 0, signal }: CallOptions & { readonly waitSeconds?: number } = {},
  ): Promise<RunResult<Output>> {
    const path = `agent-runtime/runs/${encodeURIComponent(taskId)}?wait=${waitSeconds}`;
    const response = await this.#http.send({ method: 'GET', path, signal, isRepeatable: true });
    return (await response.json()) as RunResult<Output>;
  }

  /** Waits until a run has ended or waits for an approval, however long that takes. */
  async wait<Output extends object = Record<string, unknown>>(
    taskId: string,
    options: CallOptions = {},
  ): Promise<RunResult<Output>> {
    for (;;) {
      const result = await this.result<Output>(taskId, { ...options, waitSeconds: WAIT_S });
      if (!OPEN.has(result.status)) return result;
    }
  }

  /** Cancels one run, or all runs of the thread. */
  async cancel(threadId: string, { taskId, signal }: CallOptions & { readonly taskId?: string } = {}): Promise<void> {
    const body = taskId === undefined ? {} : { taskId };
    await this.#http.send({ method: 'POST', path: `${threadPath(threadId)}/cancel`, body, signal, isRepeatable: true });
  }

  /** Answers the approval that a tool call waits for. The same answer again is accepted. */
  async approve(
    threadId: string,
    approvalId: string,
    answer: { readonly approved: boolean; readonly reason?: string },
    { signal }: CallOptions = {},
  ): Promise<void> {
    const path = `${threadPath(threadId)}/approvals/${encodeURIComponent(approvalId)}`;
    await this.#http.send({ method: 'POST', path, body: answer, signal, isRepeatable: true });
  }

  async #turn(
    path: string,
    body: unknown,
    headers: Record<string, string>,
    { idempotencyKey = crypto.randomUUID(), signal }: RunOptions,
  ): Promise<Response> {
    const keyed = { ...headers, 'idempotency-key': idempotencyKey };
    return this.#http.send({ method: 'POST', path, headers: keyed, body, signal, isRepeatable: true });
  }

  #stream(
    threadId: string,
    response: Response,
    { signal, lastEventId }: { readonly signal?: AbortSignal | undefined; readonly lastEventId?: string | undefined },
  ): RunStream {
    const reopen = (position: StreamPosition): Promise<Response> => this.#openStream(threadId, position, { signal });
    const { retries } = this.#http;
    return new RunStream(response, reopen, { retries, signal: this.#http.signalFor(signal), lastEventId });
  }

  async #openStream(
    threadId: string,
    { taskId, lastEventId }: StreamPosition,
    { signal, ifRunning = false }: { readonly signal?: AbortSignal | undefined; readonly ifRunning?: boolean },
  ): Promise<Response> {
    const query = new URLSearchParams({ ...(taskId && { taskId }), ...(ifRunning && { idle: '204' }) });
    return this.#http.send({
      method: 'GET',
      path: `${threadPath(threadId)}/stream?${query}`,
      headers: { ...EVENT_STREAM, ...(lastEventId && { 'last-event-id': lastEventId }) },
      signal,
      isRepeatable: true,
    });
  }
}

function threadPath(threadId: string): string {
  return `agent-runtime/threads/${encodeURIComponent(threadId)}`;
}

function requestOf(input: RunInput): RunRequest {
  if (!('text' in input)) return input;
  const { agentId, text, files = [], ...rest } = input;
  const parts = [...files.map(filePart), { type: 'text' as const, text }];
  return { ...rest, messages: [{ role: 'user', parts }], agent: { id: agentId } };
}
