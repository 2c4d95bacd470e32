import { Injectable } from '@nestjs/common';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { DomainError } from '../common/domain-error.js';
import type { Connection } from '../connections/connection.js';
import { ConnectionDirectory } from '../connections/connection-directory.service.js';
import type { UpstreamTool } from './upstream.js';
import { UpstreamPool } from './upstream-pool.js';
import { UpstreamTargets } from './upstream-targets.js';

/** Names a connection. The id is a UUID. */
export interface ConnectionRef {
  readonly organizationId: string;
  readonly connectionId: string;
}

/** On whose behalf a tool is called. */
export interface ToolCaller {
  readonly userId: string;
  readonly apiKeyId?: string;
  readonly runId?: string;
  /** Sent upstream as `x-request-id`. */
  readonly requestId: string;
}

/** One call of an upstream's tool. */
export interface ToolCall extends ConnectionRef {
  /** The upstream's own name of the tool. */
  readonly toolName: string;
  readonly args: Record<string, unknown>;
  readonly caller: ToolCaller;
  /** May the caller call this tool of the connection? Asked once, with `toolName`. */
  readonly permitted: (toolName: string) => boolean;
  /** Aborting it cancels the call upstream. */
  readonly signal?: AbortSignal;
}

/** The one door to the upstreams. Whoever calls a tool, for whatever reason, passes the same steps here. */
@Injectable()
export class ToolInvoker {
  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly targets: UpstreamTargets,
    private readonly pool: UpstreamPool,
  ) {}

  /**
   * The tools that the upstream lists now; they become the last known ones.
   * @throws DomainError `not_found` or `connection_unavailable`, UpstreamError
   */
  async listTools(ref: ConnectionRef, options: { signal?: AbortSignal } = {}): Promise<UpstreamTool[]> {
    const connection = await this.activeConnection(ref);
    const target = this.targets.of(connection);
    const tools = await this.pool.use(target, (upstream) => upstream.listTools(options.signal));
    await this.directory.rememberTools(connection, tools);
    return tools;
  }

  /**
   * The result as the upstream sent it; a tool that failed is a result too (`isError`).
   * @throws DomainError `not_found`, `connection_unavailable` or `permission_denied`, UpstreamError
   */
  async callTool(call: ToolCall): Promise<CallToolResult> {
    const connection = await this.activeConnection(call);
    requirePermission(call);
    const target = this.targets.of(connection);
    const { toolName, args, signal } = call;
    const { requestId } = call.caller;
    return this.pool.use(target, (upstream) => upstream.callTool(toolName, args, { signal, requestId }));
  }

  /** A connection in the status `error` is tried: that is how it recovers. */
  private async activeConnection({ organizationId, connectionId }: ConnectionRef): Promise<Connection> {
    const connection = await this.directory.find(organizationId, connectionId);
    if (connection === undefined) {
      throw new DomainError('not_found', 'There is no connection with this id in the organization.');
    }
    if (connection.status === 'inactive')
      throw new DomainError('connection_unavailable', 'The connection is inactive.');
    return connection;
  }
}

function requirePermission({ toolName, permitted }: ToolCall): void {
  if (!permitted(toolName)) {
    throw new DomainError('permission_denied', 'The caller may not call this tool of the connection.');
  }
}
