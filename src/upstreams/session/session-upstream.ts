import { type CallToolResult, ProtocolError } from '@modelcontextprotocol/client';
import type { AnswerRoom } from '../../core/answers/answer-room.js';
import type { ChangeListener, Listening, WantedChanges } from '../contract/list-change.js';
import { CallDeadline, NO_LIMIT_MS } from '../contract/call-deadline.js';
import type {
  ServerDescription,
  CallToolOptions,
  ListenOptions,
  ListToolsOptions,
  Upstream,
  UpstreamTool,
} from '../contract/upstream.js';
import type { McpSession, RequestBounds } from './mcp-session.js';
import { SERVICE } from '../contract/callers.js';
import type { LogLevel } from '../contract/log-level.js';
import { toUpstreamError, UpstreamError } from '../contract/upstream-error.js';
import { completeInRounds, type RoundParams } from './input-rounds.js';
import { LOG_OF_CALL, ROOM_OF_CALL } from './call-context.js';

const LIST_TIMEOUT_MS = 60_000;
const SUBSCRIBE_TIMEOUT_MS = 30_000;
const LEVEL_TIMEOUT_MS = 5_000;
/** How many resources are subscribed to at a time, or no longer. */
const SUBSCRIBED_AT_ONCE = 8;

/** An upstream with one session of the SDK's client, in which all requests are sent. Subclasses open the session. */
export abstract class SessionUpstream implements Upstream {
  protected readonly lifetime = new AbortController();
  /** The session, or the attempt to open it, which all callers share; a failed attempt is not kept. */
  private session: Promise<McpSession> | undefined;
  private live: McpSession | undefined;

  /**
   * @param address names the upstream in messages: "The upstream at <address> …"
   * @param maxTimeoutMs the time limit of one call
   */
  protected constructor(
    protected readonly address: string,
    protected readonly maxTimeoutMs: number,
  ) {}

  protected abstract open(signal: AbortSignal): Promise<McpSession>;

  get protocolVersion(): string | undefined {
    return this.live?.protocolVersion;
  }

  /** Programs and unknown transports keep state. */
  get isStateless(): boolean | undefined {
    return false;
  }

  /** The upstream's description of itself; connects if necessary. */
  serverDescription(signal?: AbortSignal): Promise<ServerDescription> {
    return this.perform(signal, this.maxTimeoutMs, async ({ serverDescription }) => serverDescription);
  }

  listTools({ signal, room }: ListToolsOptions = {}): Promise<UpstreamTool[]> {
    const timeoutMs = Math.min(LIST_TIMEOUT_MS, this.maxTimeoutMs);
    return this.perform(signal, timeoutMs, (session, deadline) => {
      const list = (): Promise<UpstreamTool[]> => session.listTools({ signal: deadline.signal, timeoutMs });
      return this.inTurn(SERVICE, deadline, inRoom(room, list));
    });
  }

  callTool(name: string, args: Record<string, unknown>, options: CallToolOptions = {}): Promise<CallToolResult> {
    return this.exchange(options, (session, bounds) =>
      options.asTask === true ? session.callAsTask(name, args, bounds) : session.callTool(name, args, bounds),
    );
  }

  request(method: string, params: Record<string, unknown> | undefined, options: CallToolOptions = {}): Promise<object> {
    return this.exchange(options, (session, bounds) => session.request(method, params, bounds));
  }

  async requireLogLevel(level: LogLevel, { signal, caller = SERVICE }: ListenOptions): Promise<void> {
    try {
      await this.perform(signal, LEVEL_TIMEOUT_MS, async (session, deadline) => {
        // In the modern era, each request has a level of its own.
        if (session.isModern) return;
        await this.inTurn(caller, deadline, () =>
          session.requireLogLevel(level, { signal: deadline.signal, timeoutMs: LEVEL_TIMEOUT_MS }),
        );
      });
    } catch (error) {
      // The call that follows does not need the level, and reports what is wrong with the upstream.
      if (!(error instanceof UpstreamError)) throw error;
    }
  }

  listenForChanges(
    wanted: WantedChanges,
    listener: ChangeListener,
    { signal, caller = SERVICE }: ListenOptions,
  ): Promise<Listening | undefined> {
    return this.perform(signal, this.maxTimeoutMs, async (session, deadline) => {
      if (session.isModern && wanted.uris.length > 0) {
        return this.listenToResources(session, wanted.uris, listener, { caller, signal: deadline.signal });
      }
      if (!(await this.receivesChanges(session, caller))) return undefined;
      const send = (method: string, uri: string): Promise<boolean> =>
        this.sendSubscription(session, caller, method, uri);
      const stopListening = session.changes.add(listener);
      const stopWatching = session.watch();
      const added: string[] = [];
      const stop = async (): Promise<void> => {
        stopListening();
        for (const next of chunksOf(added, SUBSCRIBED_AT_ONCE)) {
          // The upstream no longer knows what was subscribed to in a session that it has forgotten.
          if (this.live !== session) break;
          await Promise.all(next.map((uri) => session.subscriptions.remove(uri, send)));
        }
        stopWatching();
      };
      try {
        const uris: string[] = [];
        for (const next of chunksOf(wanted.uris, SUBSCRIBED_AT_ONCE)) {
          added.push(...next);
          const accepted = await deadline.wait(() =>
            Promise.all(next.map((uri) => session.subscriptions.add(uri, send))),
          );
          uris.push(...next.filter((_, index) => accepted[index] === true));
        }
        return { uris, stop };
      } catch (error) {
        void stop();
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    this.lifetime.abort();
    const session = await this.session?.catch(() => undefined);
    await session?.close();
  }

  /** Opens a new session with the next request. */
  forget(session: McpSession): void {
    // Another caller may have opened a new session already.
    if (this.live !== session) return;
    this.live = undefined;
    this.session = undefined;
  }

  /** The session, if it is open. */
  protected get openSession(): McpSession | undefined {
    return this.live?.hasEnded === false ? this.live : undefined;
  }

  /** True if a credential is sent to the upstream. */
  protected get hasCredential(): boolean {
    return true;
  }

  /** What the upstream said while it was started, as a sentence that continues a message; empty if nothing. */
  protected get lastWords(): string {
    return '';
  }

  /** True if the upstream can report changes in this session. @throws UpstreamError */
  protected async receivesChanges(_session: McpSession, _caller: string): Promise<boolean> {
    return true;
  }

  /**
   * Subscribes to resources of an upstream of the modern era; undefined if that is not possible.
   * @param options whose signal ends the wait for the acknowledgement
   * @throws UpstreamError
   */
  protected async listenToResources(
    _session: McpSession,
    _uris: readonly string[],
    _listener: ChangeListener,
    _options: Required<ListenOptions>,
  ): Promise<Listening | undefined> {
    return undefined;
  }

  /** Does the work when it is the caller's turn, for upstreams at which callers have to wait. */
  protected inTurn<T>(_caller: string, _deadline: CallDeadline, work: () => Promise<T>): Promise<T> {
    return work();
  }

  protected async perform<T>(
    signal: AbortSignal | undefined,
    timeoutMs: number,
    work: (session: McpSession, deadline: CallDeadline) => Promise<T>,
  ): Promise<T> {
    const deadline = new CallDeadline(signal, timeoutMs);
    let session: McpSession | undefined;
    try {
      session = await deadline.wait(() => this.connected());
      try {
        return await work(session, deadline);
      } catch (error) {
        if (!session.wasForgotten(error)) throw error;
        this.forget(session);
        session = await deadline.wait(() => this.connected());
        return await work(session, deadline);
      }
    } catch (error) {
      throw this.explain(session?.causeOf(error) ?? error, deadline, timeoutMs);
    } finally {
      deadline.end();
    }
  }

  /**
   * Sends a request when it is the caller's turn, and again with the answers of a client that an upstream of the modern
   * era asks.
   * @param send sends it once
   */
  private exchange<T extends object>(
    options: CallToolOptions,
    send: (session: McpSession, bounds: RequestBounds) => Promise<T>,
  ): Promise<T> {
    const { signal, onProgress, requestId, traceHeaders, caller = SERVICE, answeringClient, log, room } = options;
    const timeoutMs = this.timeOf(options);
    return this.perform(signal, timeoutMs, (session, deadline) => {
      const sendRound = (added?: RoundParams): Promise<T> => {
        const logLevel = session.isModern ? log?.level : undefined;
        const bounds = { signal: deadline.signal, timeoutMs, onProgress, requestId, traceHeaders, added, logLevel };
        const sendNow = (): Promise<T> => send(session, bounds);
        return this.inTurn(caller, deadline, passing(session, options, inRoom(room, sendNow)));
      };
      return session.isModern && answeringClient !== undefined
        ? completeInRounds(sendRound, answeringClient, deadline)
        : sendRound();
    });
  }

  /** Subscribes to a resource, or ends that. Resolves with false if the upstream refuses. */
  private async sendSubscription(session: McpSession, caller: string, method: string, uri: string): Promise<boolean> {
    // Other listeners can wait for the same subscription, so no listener ends it.
    const deadline = new CallDeadline(this.lifetime.signal, SUBSCRIBE_TIMEOUT_MS);
    const bounds = { signal: deadline.signal, timeoutMs: SUBSCRIBE_TIMEOUT_MS };
    try {
      await this.inTurn(caller, deadline, () => session.request(method, { uri }, bounds));
      return true;
    } catch (error) {
      if (error instanceof ProtocolError) return false;
      throw error;
    } finally {
      deadline.end();
    }
  }

  private timeOf({ timeoutMs = this.maxTimeoutMs, receiver }: CallToolOptions): number {
    if (receiver !== undefined) return NO_LIMIT_MS;
    return Math.min(timeoutMs, this.maxTimeoutMs);
  }

  private connected(): Promise<McpSession> {
    if (this.live?.hasEnded === true) this.forget(this.live);
    this.session ??= this.connect();
    return this.session;
  }

  private async connect(): Promise<McpSession> {
    try {
      this.live = await this.open(this.lifetime.signal);
      return this.live;
    } catch (error) {
      this.session = undefined;
      throw error;
    }
  }

  private explain(error: unknown, deadline: CallDeadline, timeoutMs: number): UpstreamError {
    if (deadline.stopped === 'timeout') {
      // What a program says before it serves concerns its start; later, it can concern the calls of others.
      const words = this.live === undefined ? this.lastWords : '';
      const message = `The upstream at ${this.address} did not answer within ${timeoutMs} ms.${words}`;
      return new UpstreamError('timeout', message);
    }
    if (deadline.stopped === 'cancelled' || this.lifetime.signal.aborted) {
      return new UpstreamError('cancelled', `The request to the upstream at ${this.address} was cancelled.`);
    }
    return toUpstreamError(error, this.address, this.hasCredential);
  }
}

function* chunksOf<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

/** The work, whose answers are read with the room. */
function inRoom<T>(room: AnswerRoom | undefined, work: () => Promise<T>): () => Promise<T> {
  return room === undefined ? work : () => ROOM_OF_CALL.run(room, work);
}

/** The work, during which requests and log messages of the upstream are passed on. */
function passing<T>(
  { requests, logs }: McpSession,
  { receiver, log }: CallToolOptions,
  work: () => Promise<T>,
): () => Promise<T> {
  if (receiver === undefined && log === undefined) return work;
  return async () => {
    const stops = [receiver && requests.passTo(receiver), log && logs.passTo(log.take)];
    try {
      return await (log === undefined ? work() : LOG_OF_CALL.run(log.take, work));
    } finally {
      for (const stop of stops) stop?.();
    }
  };
}
