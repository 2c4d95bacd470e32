import {
  Client,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type CallToolResult,
  type Implementation,
  type Progress,
  type Tool,
  type VersionNegotiationOptions,
} from '@modelcontextprotocol/client';
import { version } from '../../core/version.js';
import { endsWithin, unlessAborted } from '../../core/with-timeout.js';
import { type ChannelSession, isSessionLost } from '../messages/upstream-channel.js';
import type { StateOwner } from '../contract/callers.js';
import {
  LISTED_KINDS,
  listChangedMethod,
  type ListedKind,
  type OnListChanged,
  RESOURCE_UPDATED,
  subscriptionTo,
} from '../contract/list-change.js';
import { isFrom, type LogLevel } from '../contract/log-level.js';
import type { ServerDescription } from '../contract/upstream.js';
import type { RoundParams } from './input-rounds.js';
import { ANY_RESULT, CALL_TOOL_RESULT, TOOL_PAGE } from './result-schemas.js';
import { SessionChanges, SessionLogs, SessionRequests } from './session-messages.js';
import { ResourceSubscriptions } from './resource-subscriptions.js';
import { collectTools } from '../contract/tool-listing.js';
import type { SessionTransport } from '../contract/session-transport.js';
import { readTask, waitForTask } from '../contract/tool-task.js';
import { UpstreamError } from '../contract/upstream-error.js';

/** The limits and id of a request; times in milliseconds. */
export interface RequestBounds {
  signal: AbortSignal;
  timeoutMs: number;
  /** Sent as `x-request-id`. */
  requestId?: string | undefined;
  /** W3C trace context. */
  traceHeaders?: Readonly<Record<string, string>> | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Added to the params of a request whose result can ask for input (`InputRequiredResult`). */
  added?: RoundParams | undefined;
  /** From which level on a modern upstream sends log messages of the request; absent: none. */
  logLevel?: LogLevel | undefined;
}

/** The name and version that this service sends to upstreams. */
export const CLIENT_INFO: Implementation = { name: 'signalbox', version };
/** The time limit of each step of connecting: the probe for the modern era, then `initialize`. */
const CONNECT_STEP_TIMEOUT_MS = 30_000;
const TERMINATE_TIMEOUT_MS = 2_000;
const CANCEL_TIMEOUT_MS = 5_000;
/** How long the server is asked to keep a task after the time limit of its call. */
const TASK_KEPT_MS = 60_000;
/** MCP 2026-07-28: the `Mcp-*` headers do not match the body; the server did not process the request. */
const HEADER_MISMATCH = -32020;

/**
 * One MCP session of either era: modern (2026-07-28) if the upstream answers `server/discover`, otherwise legacy
 * (`initialize`). In the legacy era it declares the capabilities of the client that it is opened for. It does not
 * compile the upstream's schemas. Throws what the SDK throws.
 */
export class McpSession {
  /** Tools whose arguments are repeated in `Mcp-Param-*` headers in the modern era, as last listed. */
  private readonly mirrored = new Map<string, Tool>();

  /** True if the upstream has opened no session. */
  readonly isStateless: boolean;
  readonly isModern: boolean;
  /** In the modern era each request declares what its client answers. The one of a call is added to its rounds. */
  private readonly undeclared: Readonly<Record<string, unknown>>;
  /** Of a legacy upstream. */
  readonly subscriptions = new ResourceSubscriptions();
  /** The least severe log messages that were asked for in the session, once all requests so far are answered. */
  private leastLevel: Promise<LogLevel | undefined> = Promise.resolve(undefined);

  private constructor(
    private readonly client: Client,
    private readonly transport: SessionTransport,
    /** Of a legacy upstream, which sends none unless the session declares capabilities. */
    readonly requests: SessionRequests,
    /** For HTTP, those of its stream of unsolicited messages belong here too. */
    readonly changes: SessionChanges,
    readonly logs: SessionLogs,
  ) {
    this.isStateless = transport.sessionId === undefined;
    this.isModern = client.getProtocolEra() === 'modern';
    this.undeclared = this.isModern ? { [CLIENT_CAPABILITIES_META_KEY]: {} } : {};
  }

  /**
   * @param versionNegotiation how the era is determined; mode `legacy` skips the probe for the modern era
   * @param onListChanged called for notifications over this transport; for HTTP, only for those within an answer
   * @param owner whose calls alone are sent in it, and receive the upstream's requests; absent if callers share it
   */
  static async open(
    transport: SessionTransport,
    signal: AbortSignal,
    versionNegotiation: VersionNegotiationOptions = { mode: 'auto' },
    onListChanged?: OnListChanged,
    owner?: Pick<StateOwner, 'capabilities'>,
  ): Promise<McpSession> {
    signal.throwIfAborted();
    const capabilities = owner?.capabilities;
    const requests = new SessionRequests(capabilities !== undefined);
    const changes = new SessionChanges();
    const logs = new SessionLogs(owner !== undefined);
    const client = new Client(CLIENT_INFO, {
      capabilities: capabilities ?? {},
      versionNegotiation,
      inputRequired: { autoFulfill: false },
      jsonSchemaValidator: {
        getValidator() {
          throw new Error('Upstream schemas must not be compiled here');
        },
      },
    });
    client.fallbackRequestHandler = async (request, { mcpReq }) => ({
      ...(await requests.answer(request, mcpReq.signal)),
    });
    for (const kind of LISTED_KINDS) {
      client.setNotificationHandler(listChangedMethod(kind), () => {
        onListChanged?.(kind);
        changes.listChanged(kind);
      });
    }
    client.setNotificationHandler('notifications/message', ({ params }) => logs.logged(params));
    client.setNotificationHandler(RESOURCE_UPDATED, ({ params: { uri } }) => changes.resourceUpdated(uri));
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client has callbacks, not events
    client.onclose = () => changes.end(faultOf(transport));
    const abandon = (): void => void transport.close();
    signal.addEventListener('abort', abandon, { once: true });
    try {
      await client.connect(transport, { timeout: CONNECT_STEP_TIMEOUT_MS });
    } finally {
      signal.removeEventListener('abort', abandon);
    }
    return new McpSession(client, transport, requests, changes, logs);
  }

  get protocolVersion(): string | undefined {
    return this.client.getNegotiatedProtocolVersion();
  }

  /** The session as a channel needs it to send bytes. */
  get channelSession(): ChannelSession {
    return { id: this.transport.sessionId, protocolVersion: this.protocolVersion };
  }

  get serverDescription(): ServerDescription {
    return {
      isModern: this.isModern,
      serverInfo: this.client.getServerVersion(),
      instructions: this.client.getInstructions(),
      capabilities: this.client.getServerCapabilities() ?? {},
    };
  }

  /** The lists whose changes the upstream announces (`listChanged`). */
  get announcedLists(): readonly ListedKind[] {
    const capabilities = this.client.getServerCapabilities();
    return LISTED_KINDS.filter((kind) => capabilities?.[kind]?.listChanged === true);
  }

  /**
   * Subscribes to the announced changes of a modern upstream, over the transport of this session. Legacy upstreams send
   * them without a subscription. Rejects if the upstream refuses the subscription.
   */
  async subscribe(signal: AbortSignal): Promise<void> {
    if (!this.isModern || this.announcedLists.length === 0) return;
    await this.client.listen(subscriptionTo(this.announcedLists), { signal });
  }

  /**
   * Has a legacy upstream send log messages of this level, and of all that were asked for before. Does nothing if the
   * upstream has no log.
   */
  async requireLogLevel(level: LogLevel, bounds: RequestBounds): Promise<void> {
    const hasLog = !this.isModern && this.client.getServerCapabilities()?.logging !== undefined;
    if (!hasLog) return;
    const before = this.leastLevel;
    const setting = before.then((least) => this.setLogLevel(level, least, bounds));
    this.leastLevel = setting.catch(() => before);
    await unlessAborted(setting, bounds.signal);
  }

  /** Keeps what serves the session from being stopped for lack of use, until the returned function is called. */
  watch(): () => void {
    return this.transport.watch?.() ?? (() => undefined);
  }

  async listTools(bounds: RequestBounds): Promise<Tool[]> {
    if (this.client.getServerCapabilities()?.tools === undefined) return [];
    const tools = await collectTools((cursor) =>
      this.client.request(
        { method: 'tools/list', ...this.paramsOf(cursor === undefined ? undefined : { cursor }) },
        TOOL_PAGE,
        toOptions(bounds),
      ),
    );
    this.storeMirrored(tools);
    return tools;
  }

  async callTool(name: string, args: Record<string, unknown>, bounds: RequestBounds): Promise<CallToolResult> {
    try {
      return await this.requestTool(name, args, bounds);
    } catch (error) {
      if (!(error instanceof ProtocolError) || error.code !== HEADER_MISMATCH) throw error;
      await this.listTools(bounds);
      return this.requestTool(name, args, bounds);
    }
  }

  /** Calls the tool as a task, and returns its result. A server that does not support tasks gets a usual call. */
  async callAsTask(name: string, args: Record<string, unknown>, bounds: RequestBounds): Promise<CallToolResult> {
    const supportsTasks = this.client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined;
    if (this.isModern || !supportsTasks) return this.callTool(name, args, bounds);
    const params = { name, arguments: args, task: { ttl: bounds.timeoutMs + TASK_KEPT_MS } };
    const created = await this.request('tools/call', params, bounds);
    const task = readTask(created);
    if (task === undefined) throw new UpstreamError('protocol', 'The upstream did not create a task for the call.');
    const { id: taskId } = task;
    const later = { ...bounds, onProgress: undefined };
    try {
      await waitForTask(task, () => this.request('tasks/get', { taskId }, later), bounds.signal);
      return await this.client.request(
        { method: 'tasks/result', params: { taskId } },
        CALL_TOOL_RESULT,
        toOptions(later),
      );
    } catch (error) {
      if (bounds.signal.aborted) this.cancelTask(taskId);
      // The call must not be repeated in another session, because the server has begun it.
      if (this.wasForgotten(error)) throw new UpstreamError('protocol', 'The upstream no longer knows the task.');
      throw error;
    }
  }

  request(method: string, params: Record<string, unknown> | undefined, bounds: RequestBounds): Promise<object> {
    return this.client.request({ method, ...this.paramsOf(params, bounds) }, ANY_RESULT, toOptions(bounds));
  }

  /** True if the transport's connection has ended. */
  get hasEnded(): boolean {
    return this.transport.hasEnded;
  }

  /** The cause of a failed request: why the connection ended if that made it fail, otherwise the error itself. */
  causeOf(error: unknown): unknown {
    const hasEnded =
      error instanceof SdkError &&
      (error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected);
    return (hasEnded ? this.transport.fault : undefined) ?? error;
  }

  /** True if this error says that the upstream no longer knows the session, and so did not process the request. */
  wasForgotten(error: unknown): boolean {
    if (this.transport.sessionId === undefined || !(error instanceof SdkHttpError)) return false;
    const body = error.data['text'];
    return isSessionLost(error.status, typeof body === 'string' ? body : '');
  }

  /** Ends the session on both sides; active requests fail. Never rejects. */
  async close(): Promise<void> {
    await endsWithin(this.transport.terminateSession(), TERMINATE_TIMEOUT_MS, { ref: false });
    await this.client.close().catch(() => undefined);
  }

  /** Returns the level that the session has then. */
  private async setLogLevel(level: LogLevel, least: LogLevel | undefined, bounds: RequestBounds): Promise<LogLevel> {
    if (least !== undefined && isFrom(least, level)) return least;
    try {
      await this.request('logging/setLevel', { level }, bounds);
    } catch (error) {
      // An upstream that refuses a level is not asked for it again.
      if (!(error instanceof ProtocolError)) throw error;
    }
    return level;
  }

  /** The params of a request with what the session and the bounds add to them. */
  private paramsOf(
    params: Record<string, unknown> | undefined,
    { added, logLevel }: Pick<RequestBounds, 'added' | 'logLevel'> = {},
  ): { params?: Record<string, unknown> } {
    const meta = {
      ...this.undeclared,
      ...(added?.['_meta'] as object | undefined),
      ...(logLevel !== undefined && { [LOG_LEVEL_META_KEY]: logLevel }),
    };
    const all = { ...params, ...added, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
    return params === undefined && Object.keys(all).length === 0 ? {} : { params: all };
  }

  private cancelTask(taskId: string): void {
    const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    this.request('tasks/cancel', { taskId }, { signal, timeoutMs: CANCEL_TIMEOUT_MS }).catch(() => undefined);
  }

  private requestTool(name: string, args: Record<string, unknown>, bounds: RequestBounds): Promise<CallToolResult> {
    const params = { name, arguments: args, ...this.paramsOf({}, bounds).params };
    const toolDefinition = this.mirrored.get(name);
    return toolDefinition === undefined
      ? this.client.request({ method: 'tools/call', params }, CALL_TOOL_RESULT, toOptions(bounds))
      : this.client.callTool(params, { ...toOptions(bounds), toolDefinition });
  }

  private storeMirrored(tools: readonly Tool[]): void {
    this.mirrored.clear();
    if (this.client.getProtocolEra() !== 'modern') return;
    for (const { name, inputSchema } of tools) {
      // Without its output schema, the SDK has nothing to compile.
      if (JSON.stringify(inputSchema).includes('"x-mcp-header"')) this.mirrored.set(name, { name, inputSchema });
    }
  }
}

function faultOf({ fault }: SessionTransport): UpstreamError {
  return fault instanceof UpstreamError
    ? fault
    : new UpstreamError('cancelled', 'The session with the upstream ended.');
}

function toOptions({ signal, timeoutMs, requestId, traceHeaders, onProgress, added }: RequestBounds) {
  return {
    signal,
    timeout: timeoutMs,
    ...(requestId !== undefined && { headers: { 'x-request-id': requestId, ...traceHeaders } }),
    ...(onProgress !== undefined && { onprogress: onProgress }),
    ...(added !== undefined && { allowInputRequired: true }),
  };
}
