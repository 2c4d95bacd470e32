import type { CallToolResult, Implementation } from '@modelcontextprotocol/client';
import { CallDeadline } from '../contract/call-deadline.js';
import type { ServerDescription } from '../contract/server-description.js';
import type { McpSession } from './mcp-session.js';
import { SERVICE } from '../contract/tool-caller.js';
import { toUpstreamError } from '../contract/to-upstream-error.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { CallToolOptions, Upstream, UpstreamTool } from '../contract/upstream.js';

const LIST_TIMEOUT_MS = 60_000;

/** An upstream whose callers share one session of the SDK's client; kinds differ in how the session is opened. */
export abstract class SessionUpstream implements Upstream {
  private readonly lifetime = new AbortController();
  /** The session, or the one attempt to open it that all callers share; a failed attempt is not kept. */
  private session: Promise<McpSession> | undefined;
  private live: McpSession | undefined;

  /**
   * @param address what the upstream is called in messages: "The upstream at <address> …"
   * @param longestMs the longest time for one call
   */
  protected constructor(
    protected readonly address: string,
    protected readonly longestMs: number,
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

  /** What it says of itself; connects if need be. */
  serverDescription(signal: AbortSignal): Promise<ServerDescription> {
    return this.perform(signal, this.longestMs, async ({ serverDescription }) => serverDescription);
  }

  listTools(signal?: AbortSignal): Promise<UpstreamTool[]> {
    const timeoutMs = Math.min(LIST_TIMEOUT_MS, this.longestMs);
    return this.perform(signal, timeoutMs, (session, scope) =>
      this.inTurn(SERVICE, scope, () => session.listTools({ signal: scope.signal, timeoutMs })),
    );
  }

  callTool(name: string, args: Record<string, unknown>, options: CallToolOptions = {}): Promise<CallToolResult> {
    const { signal, onProgress, requestId, traceHeaders, caller = SERVICE } = options;
    const timeoutMs = this.timeOf(options);
    return this.perform(signal, timeoutMs, (session, scope) =>
      this.inTurn(caller, scope, () =>
        session.callTool(name, args, { signal: scope.signal, timeoutMs, onProgress, requestId, traceHeaders }),
      ),
    );
  }

  request(method: string, params: Record<string, unknown> | undefined, options: CallToolOptions = {}): Promise<object> {
    const { signal, onProgress, requestId, caller = SERVICE } = options;
    const timeoutMs = this.timeOf(options);
    return this.perform(signal, timeoutMs, (session, scope) =>
      this.inTurn(caller, scope, () =>
        session.request(method, params, { signal: scope.signal, timeoutMs, onProgress, requestId }),
      ),
    );
  }

  async close(): Promise<void> {
    this.lifetime.abort();
    const session = await this.session?.catch(() => undefined);
    await session?.close();
  }

  /** Opens a new session with the next request. */
  forget(session: McpSession): void {
    // Others may have found out as well, and have a new session already.
    if (this.live !== session) return;
    this.live = undefined;
    this.session = undefined;
  }

  /** The session, if it is open. */
  protected get openSession(): McpSession | undefined {
    return this.live?.hasEnded === false ? this.live : undefined;
  }

  /** Does the work when it is this caller's turn, if the upstream is one at which callers have to wait for each other. */
  protected inTurn<T>(_caller: string, _scope: CallDeadline, work: () => Promise<T>): Promise<T> {
    return work();
  }

  protected async perform<T>(
    signal: AbortSignal | undefined,
    timeoutMs: number,
    work: (session: McpSession, scope: CallDeadline) => Promise<T>,
  ): Promise<T> {
    const scope = new CallDeadline(signal, timeoutMs);
    let session: McpSession | undefined;
    try {
      session = await scope.wait(() => this.connected());
      try {
        return await work(session, scope);
      } catch (error) {
        if (!session.wasForgotten(error)) throw error;
        this.forget(session);
        session = await scope.wait(() => this.connected());
        return await work(session, scope);
      }
    } catch (error) {
      throw this.explain(session?.causeOf(error) ?? error, scope, timeoutMs);
    } finally {
      scope.end();
    }
  }

  private timeOf({ timeoutMs = this.longestMs }: CallToolOptions): number {
    return Math.min(timeoutMs, this.longestMs);
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

  private explain(error: unknown, scope: CallDeadline, timeoutMs: number): UpstreamError {
    if (scope.stopped === 'timeout') {
      return new UpstreamError('timeout', `The upstream at ${this.address} did not answer within ${timeoutMs} ms.`);
    }
    if (scope.stopped === 'cancelled' || this.lifetime.signal.aborted) {
      return new UpstreamError('cancelled', `The request to the upstream at ${this.address} was cancelled.`);
    }
    return toUpstreamError(error, this.address);
  }
}
