import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AgentComposition } from '../../../agents/composition/agent-composition.js';
import { connectionOf, type ToolPlace } from '../../../agents/composition/composition.js';
import { AuditLog } from '../../../audit/audit-log.js';
import type { AuditDoor } from '../../../audit/audit-record.js';
import { DomainError } from '../../../common/domain-error.js';
import { toDomainError } from '../../../common/to-domain-error.js';
import { ConnectionDirectory } from '../../../connections/connection-directory.js';
import { ProxyTelemetry } from '../../../telemetry/proxy-telemetry.js';
import { outcomeOf } from '../../../upstreams/invocation.js';
import { requireActive } from '../../../upstreams/contract/require-active.js';
import { credentialMissing } from '../../http/caller-resolver.js';
import type { InboundMessage, InboundRequest } from '../../protocol/inbound-message.js';
import { traceContextOf } from '../../protocol/mcp-headers.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { AgentToolCaller } from './agent-tool-caller.js';
import { renameTool } from './rename-tool.js';

/** A tool call as it came to an agent. */
export interface AgentCall {
  readonly caller: ProxyCaller;
  readonly message: InboundMessage;
}

/** The same as it goes on to the tool's connection. */
export interface RoutedCall {
  readonly caller: AgentToolCaller;
  readonly message: InboundRequest;
}

/** A call that led nowhere. */
interface Refused {
  readonly name: string;
  readonly args: unknown;
  readonly door: AuditDoor;
  readonly caller: ProxyCaller;
  readonly request: FastifyRequest;
  /** Of the monotonic clock, in milliseconds. */
  readonly startedAt: number;
}

/** Finds the connection and the tool that a composed name stands for. Whether they may be used is judged at the one door. */
@Injectable()
export class AgentToolRouter {
  constructor(
    private readonly compositions: AgentComposition,
    private readonly directory: ConnectionDirectory,
    private readonly audit: AuditLog,
    private readonly telemetry: ProxyTelemetry,
  ) {}

  /**
   * A call that leads nowhere is recorded here; the others are where they go to.
   * @param compose what the agent consists of for this caller
   * @throws DomainError `invalid_rpc_request`, `connection_unavailable`, `unknown_tool`, `permission_denied` or
   * `credential_missing`
   */
  async find(
    request: FastifyRequest,
    door: AuditDoor,
    { caller, message }: AgentCall,
    compose = () => this.compositions.of(caller.connection),
  ): Promise<RoutedCall> {
    const { name, arguments: args } = message.params;
    if (message.kind !== 'request' || typeof name !== 'string' || name === '') {
      throw new DomainError('invalid_rpc_request', '`params.name` must be the name of a tool.');
    }
    const startedAt = performance.now();
    try {
      requireActive(caller.connection);
      const place = (await compose()).places.get(name);
      if (place === undefined) throw unknownTool(caller, name);
      return { caller: await this.callerOf(caller, place), message: renameTool(message, place.upstreamName) };
    } catch (error) {
      throw await this.recorded(toDomainError(error), { name, args, door, caller, request, startedAt });
    }
  }

  private async callerOf(caller: ProxyCaller, place: ToolPlace): Promise<AgentToolCaller> {
    const { organizationId } = caller.connection;
    const connection = await this.directory.find(organizationId, place.connection.id);
    if (connection === undefined) throw unknownTool(caller, place.name);
    return new AgentToolCaller(caller, place, connectionOf(place, connection));
  }

  private async recorded(
    error: DomainError,
    { name: toolName, args, door, caller, request, startedAt }: Refused,
  ): Promise<DomainError> {
    const { connection: agent, principal, requestId } = caller;
    const measured = this.telemetry.begin({
      connectionId: agent.id,
      toolName,
      toolLabel: 'other',
      method: 'tools/call',
      requestId,
      streamable: false,
      incoming: traceContextOf(request.headers),
    });
    const entry = this.audit.open({
      organizationId: agent.organizationId,
      door,
      connectionId: agent.id,
      agentId: agent.id,
      toolName,
      userId: principal?.userId ?? null,
      apiKeyId: principal?.apiKeyId ?? null,
      runId: null,
      requestId,
      public: false,
      content: agent.auditContent ? { arguments: args } : undefined,
    });
    measured.end({ status: 'error', errorCode: error.code });
    await entry.close({ ...outcomeOf(error), durationMs: performance.now() - startedAt });
    const isAnonymous = principal === undefined && error.code === 'permission_denied';
    return isAnonymous ? credentialMissing() : error;
  }
}

/** Who could not call it if it existed is not told that it does not. */
function unknownTool(caller: ProxyCaller, name: string): DomainError {
  return caller.mayCall(name)
    ? new DomainError('unknown_tool', 'The agent has no tool of this name.')
    : new DomainError('permission_denied', 'The caller may not call this tool of the agent.');
}
