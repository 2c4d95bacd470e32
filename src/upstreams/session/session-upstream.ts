import type { CallToolResult, Implementation } from '@modelcontextprotocol/client';
import { CallDeadline, NO_LIMIT_MS } from '../contract/call-deadline.js';
import type { ServerDescription } from '../contract/server-description.js';
import type { McpSession, RequestBounds } from './mcp-session.js';
import { SERVICE } from '../contract/callers.js';
import { toUpstreamError } from '../contract/to-upstream-error.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { CallToolOptions, Upstream, UpstreamTool } from '../contract/upstream.js';
import type { RequestReceiver } from '../contract/upstream-request.js';
import { completeInRounds, type RoundParams } from './input-rounds.js';

const LIST_TIMEOUT_MS = 60_000;

/** An upstream with one session of the SDK's client, in which all requests are sent. Subclasses open the session. */
export abstract class SessionUpstream implements Upstream {
  private readonly lifetime = new AbortController();
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

  get serverInfo(): Implementation | undefined {
    return this.live?.serverInfo;
  }

  get instructions(): string | undefined {
    return this.live?.instructions;
  }

  /** Programs and unknown transports keep state. */
  get isStateless(): boolean | undefined {
    return false;
  }

  /** The upstream's description of itself; connects if necessary. */
  serverDescription(signal?: AbortSignal): Promise<ServerDescription> {
    return this.perform(signal, this.maxTimeoutMs, async ({ serverDescription }) => serverDescription);
  }

  listTools(signal?: AbortSignal): Promise<UpstreamTool[]> {
    const timeoutMs = Math.min(LIST_TIMEOUT_MS, this.maxTimeoutMs);
    return this.perform(signal, timeoutMs, (session, deadline) =>
      this.inTurn(SERVICE, deadline, () => session.listTools({ signal: deadline.signal, timeoutMs })),
    );
  }

  callTool(name: string, args: Record<string, unknown>, options: CallToolOptions = {}): Promise<CallToolResult> {
    return this.exchange(options, (session, bounds) =>
      options.asTask === true ? session.callAsTask(name, args, bounds) : session.callTool(name, args, bounds),
    );
  }

  request(method: string, params: Record<string, unknown> | undefined, options: CallToolOptions = {}): Promise<object> {
    return this.exchange(options, (session, bounds) => session.request(method, params, bounds));
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
    const { signal, onProgress, requestId, traceHeaders, caller = SERVICE, receiver, answeringClient } = options;
    const timeoutMs = this.timeOf(options);
    return this.perform(signal, timeoutMs, (session, deadline) => {
      const sendRound = (added?: RoundParams): Promise<T> => {
        const bounds = { signal: deadline.signal, timeoutMs, onProgress, requestId, traceHeaders, added };
        return this.inTurn(
          caller,
          deadline,
          passing(session, receiver, () => send(session, bounds)),
        );
      };
      return session.isModern && answeringClient !== undefined
        ? completeInRounds(sendRound, answeringClient, deadline)
        : sendRound();
    });
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

/** The work, during which the requests of the upstream are passed on. */
function passing<T>(
  { requests }: McpSession,
  receiver: RequestReceiver | undefined,
  work: () => Promise<T>,
): () => Promise<T> {
  if (receiver === undefined) return work;
  return async () => {
    const stop = requests.passTo(receiver);
    try {
      return await work();
    } finally {
      stop();
    }
  };
}
