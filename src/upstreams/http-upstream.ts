import type { CallToolResult, Implementation } from '@modelcontextprotocol/client';
import type { Dispatcher } from 'undici';
import { CallScope } from './call-scope.js';
import { McpSession } from './mcp-session.js';
import { addressLabel, toUpstreamError } from './to-upstream-error.js';
import { UpstreamError } from './upstream-error.js';
import type { CallToolOptions, Upstream, UpstreamTool } from './upstream.js';
import type { UpstreamTarget } from './upstream-target.js';

const LIST_TIMEOUT_MS = 60_000;

/** The MCP client of one HTTP target (streamable HTTP, both eras). */
export class HttpUpstream implements Upstream {
  private readonly address: string;
  private readonly lifetime = new AbortController();
  /** The session, or the one attempt to open it that all callers share; a failed attempt is not kept. */
  private session: Promise<McpSession> | undefined;
  private live: McpSession | undefined;

  constructor(
    private readonly target: UpstreamTarget,
    private readonly dispatcher: Dispatcher,
  ) {
    this.address = addressLabel(target.url);
  }

  get protocolVersion(): string | undefined {
    return this.live?.protocolVersion;
  }

  get serverInfo(): Implementation | undefined {
    return this.live?.serverInfo;
  }

  get instructions(): string | undefined {
    return this.live?.instructions;
  }

  listTools(signal?: AbortSignal): Promise<UpstreamTool[]> {
    const timeoutMs = Math.min(LIST_TIMEOUT_MS, this.target.timeoutMs);
    return this.perform(signal, timeoutMs, (session, scope) => session.listTools({ signal: scope.signal, timeoutMs }));
  }

  callTool(name: string, args: Record<string, unknown>, options: CallToolOptions = {}): Promise<CallToolResult> {
    const { signal, onProgress, requestId } = options;
    const timeoutMs = Math.min(options.timeoutMs ?? this.target.timeoutMs, this.target.timeoutMs);
    return this.perform(signal, timeoutMs, (session, scope) =>
      session.callTool(name, args, { signal: scope.signal, timeoutMs, onProgress, requestId }),
    );
  }

  request(
    method: string,
    params: Record<string, unknown> | undefined,
    options: CallToolOptions = {},
  ): Promise<object> {
    const { signal, onProgress, requestId } = options;
    const timeoutMs = Math.min(options.timeoutMs ?? this.target.timeoutMs, this.target.timeoutMs);
    return this.perform(signal, timeoutMs, (session, scope) =>
      session.request(method, params, { signal: scope.signal, timeoutMs, onProgress, requestId }),
    );
  }

  async close(): Promise<void> {
    this.lifetime.abort();
    const session = await this.session?.catch(() => undefined);
    await session?.close();
  }

  private async perform<T>(
    signal: AbortSignal | undefined,
    timeoutMs: number,
    work: (session: McpSession, scope: CallScope) => Promise<T>,
  ): Promise<T> {
    const scope = new CallScope(signal, timeoutMs);
    try {
      const session = await scope.wait(() => this.connected());
      try {
        return await work(session, scope);
      } catch (error) {
        if (!session.wasForgotten(error)) throw error;
        this.forget(session);
        return await work(await scope.wait(() => this.connected()), scope);
      }
    } catch (error) {
      throw this.explain(error, scope, timeoutMs);
    } finally {
      scope.end();
    }
  }

  private connected(): Promise<McpSession> {
    this.session ??= this.connect();
    return this.session;
  }

  private async connect(): Promise<McpSession> {
    try {
      this.live = await McpSession.open(this.target, this.dispatcher, this.lifetime.signal);
      return this.live;
    } catch (error) {
      this.session = undefined;
      throw error;
    }
  }

  /** Others may have found out as well, and have a new session already. */
  private forget(session: McpSession): void {
    if (this.live !== session) return;
    this.live = undefined;
    this.session = undefined;
  }

  private explain(error: unknown, scope: CallScope, timeoutMs: number): UpstreamError {
    if (scope.stopped === 'timeout') {
      return new UpstreamError('timeout', `The upstream at ${this.address} did not answer within ${timeoutMs} ms.`);
    }
    if (scope.stopped === 'cancelled' || this.lifetime.signal.aborted) {
      return new UpstreamError('cancelled', `The request to the upstream at ${this.address} was cancelled.`);
    }
    return toUpstreamError(error, this.address);
  }
}
