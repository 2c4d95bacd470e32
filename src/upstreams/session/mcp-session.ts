import {
  Client,
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
import { endsWithin } from '../../common/with-timeout.js';
import { type ChannelSession, isSessionLost } from './channel-session.js';
import {
  LISTED_KINDS,
  listChangedMethod,
  type ListedKind,
  type OnListChanged,
  subscriptionTo,
} from '../contract/list-change.js';
import type { ServerDescription } from '../contract/server-description.js';
import { ANY_RESULT, CALL_TOOL_RESULT, TOOL_PAGE } from './result-schemas.js';
import { collectTools } from '../contract/tool-listing.js';
import type { SessionTransport } from '../contract/session-transport.js';

/** How a request is bounded and identified; times in milliseconds. */
export interface RequestBounds {
  signal: AbortSignal;
  timeoutMs: number;
  /** Sent as `x-request-id`. */
  requestId?: string;
  /** W3C trace context. */
  traceHeaders?: Readonly<Record<string, string>> | undefined;
  onProgress?: (progress: Progress) => void;
}

/** What this service calls itself to upstreams. */
export const CLIENT_INFO: Implementation = { name: 'signalbox', version: '0.1.0' };
/** For each step of connecting: the probe for the modern era, then `initialize`. */
const CONNECT_STEP_TIMEOUT_MS = 30_000;
const TERMINATE_TIMEOUT_MS = 2_000;
/** MCP 2026-07-28: the `Mcp-*` headers do not match the body; the server has not run the request. */
const HEADER_MISMATCH = -32020;

/**
 * One MCP session of either era: modern (2026-07-28) when the upstream answers `server/discover`, else legacy
 * (`initialize`). It declares no client capability and compiles no schema of the upstream. Throws what the SDK throws.
 */
export class McpSession {
  /** Tools whose arguments the modern era wants repeated in `Mcp-Param-*` headers, as last listed. */
  private readonly mirrored = new Map<string, Tool>();

  private constructor(
    private readonly client: Client,
    private readonly transport: SessionTransport,
  ) {}

  /**
   * @param versionNegotiation how the era is found out; mode `legacy` spares the probe for the modern one
   * @param onListChanged hears what comes over this transport; for HTTP, that is only what comes with an answer
   */
  static async open(
    transport: SessionTransport,
    signal: AbortSignal,
    versionNegotiation: VersionNegotiationOptions = { mode: 'auto' },
    onListChanged?: OnListChanged,
  ): Promise<McpSession> {
    signal.throwIfAborted();
    const client = new Client(CLIENT_INFO, {
      versionNegotiation,
      inputRequired: { autoFulfill: false },
      jsonSchemaValidator: {
        getValidator() {
          throw new Error('Schemas of an upstream are not compiled here');
        },
      },
    });
    for (const kind of LISTED_KINDS)
      client.setNotificationHandler(listChangedMethod(kind), () => onListChanged?.(kind));
    const abandon = (): void => void transport.close();
    signal.addEventListener('abort', abandon, { once: true });
    try {
      await client.connect(transport, { timeout: CONNECT_STEP_TIMEOUT_MS });
    } finally {
      signal.removeEventListener('abort', abandon);
    }
    return new McpSession(client, transport);
  }

  get protocolVersion(): string | undefined {
    return this.client.getNegotiatedProtocolVersion();
  }

  get serverInfo(): Implementation | undefined {
    return this.client.getServerVersion();
  }

  /** What a message needs to be sent in this session as bytes. */
  get channelSession(): ChannelSession {
    return { id: this.transport.sessionId, protocolVersion: this.protocolVersion };
  }

  get isModern(): boolean {
    return this.client.getProtocolEra() === 'modern';
  }

  get instructions(): string | undefined {
    return this.client.getInstructions();
  }

  get serverDescription(): ServerDescription {
    const { isModern, serverInfo, instructions } = this;
    return { isModern, serverInfo, instructions, capabilities: this.client.getServerCapabilities() ?? {} };
  }

  /** The lists whose changes the upstream promises to announce. */
  get promisedLists(): readonly ListedKind[] {
    const capabilities = this.client.getServerCapabilities();
    return LISTED_KINDS.filter((kind) => capabilities?.[kind]?.listChanged === true);
  }

  /**
   * Asks a modern upstream to announce the changes that it promises, over the transport of this session. In the legacy era
   * they come unasked. Rejects when it does not take the subscription.
   */
  async subscribe(signal: AbortSignal): Promise<void> {
    if (!this.isModern || this.promisedLists.length === 0) return;
    await this.client.listen(subscriptionTo(this.promisedLists), { signal });
  }

  async listTools(bounds: RequestBounds): Promise<Tool[]> {
    if (this.client.getServerCapabilities()?.tools === undefined) return [];
    const tools = await collectTools((cursor) =>
      this.client.request(
        { method: 'tools/list', ...(cursor !== undefined && { params: { cursor } }) },
        TOOL_PAGE,
        toOptions(bounds),
      ),
    );
    this.rememberMirrored(tools);
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

  request(method: string, params: Record<string, unknown> | undefined, bounds: RequestBounds): Promise<object> {
    return this.client.request({ method, ...(params !== undefined && { params }) }, ANY_RESULT, toOptions(bounds));
  }

  /** Has what carried it ended? */
  get hasEnded(): boolean {
    return this.transport.hasEnded;
  }

  /** What is behind a request's failure: why the connection ended, if that is what made it fail. */
  causeOf(error: unknown): unknown {
    const hasEnded =
      error instanceof SdkError &&
      (error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected);
    return (hasEnded ? this.transport.fault : undefined) ?? error;
  }

  /**
   * Does this error say that the upstream has forgotten the session, so that it has not taken the request?
   */
  wasForgotten(error: unknown): boolean {
    if (this.transport.sessionId === undefined || !(error instanceof SdkHttpError)) return false;
    const body = error.data['text'];
    return isSessionLost(error.status, typeof body === 'string' ? body : '');
  }

  /** Ends the session on both sides; what is under way fails. Never rejects. */
  async close(): Promise<void> {
    await endsWithin(this.transport.terminateSession(), TERMINATE_TIMEOUT_MS, { ref: false });
    await this.client.close().catch(() => undefined);
  }

  private requestTool(name: string, args: Record<string, unknown>, bounds: RequestBounds): Promise<CallToolResult> {
    const params = { name, arguments: args };
    const toolDefinition = this.mirrored.get(name);
    return toolDefinition === undefined
      ? this.client.request({ method: 'tools/call', params }, CALL_TOOL_RESULT, toOptions(bounds))
      : this.client.callTool(params, { ...toOptions(bounds), toolDefinition });
  }

  private rememberMirrored(tools: readonly Tool[]): void {
    this.mirrored.clear();
    if (this.client.getProtocolEra() !== 'modern') return;
    for (const { name, inputSchema } of tools) {
      // Without its output schema, the SDK has nothing to compile.
      if (JSON.stringify(inputSchema).includes('"x-mcp-header"')) this.mirrored.set(name, { name, inputSchema });
    }
  }
}

function toOptions({ signal, timeoutMs, requestId, traceHeaders, onProgress }: RequestBounds) {
  return {
    signal,
    timeout: timeoutMs,
    ...(requestId !== undefined && { headers: { 'x-request-id': requestId, ...traceHeaders } }),
    ...(onProgress !== undefined && { onprogress: onProgress }),
  };
}
