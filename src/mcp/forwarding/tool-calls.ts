import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { AuditDoor } from '../../audit/audit-record.js';
import { DomainError } from '../../common/domain-error.js';
import type { ToolList } from '../../upstreams/catalog/tool-list.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { UpstreamChannels } from '../../upstreams/channels/upstream-channels.js';
import type { Invocation } from '../../upstreams/invocation.js';
import { ToolInvoker } from '../../upstreams/tool-invoker.js';
import { credentialMissing } from '../http/caller-resolver.js';
import { traceContextOf } from '../protocol/mcp-headers.js';
import { SessionTools } from './session/session-tools.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import { type Dispatch, sessionAtUpstream } from './upstream-sender.js';

type Unsent = Omit<Dispatch, 'headers'>;

/** Takes the tool calls of MCP clients to the one door. */
@Injectable()
export class ToolCalls {
  constructor(
    private readonly invoker: ToolInvoker,
    private readonly catalog: ToolCatalog,
    private readonly channels: UpstreamChannels,
    private readonly sessionTools: SessionTools,
  ) {}

  /** @throws what `ToolInvoker.admit` throws; a caller without a credential is told that one is missing */
  async admit(request: FastifyRequest, door: AuditDoor, dispatch: Unsent): Promise<Invocation> {
    const { caller, message, route } = dispatch;
    const { name, arguments: args } = message.params;
    if (typeof name !== 'string' || name === '') {
      throw new DomainError('invalid_rpc_request', '`params.name` must be the name of a tool.');
    }
    try {
      return await this.invoker.admit({
        connection: caller.connection,
        toolName: name,
        args,
        caller: caller.asToolCaller,
        door,
        streamable: door === 'call_tool',
        ...(caller.agentId !== undefined && { agentId: caller.agentId }),
        permitted: (toolName) => caller.mayCall(toolName),
        trace: traceContextOf(request.headers),
        ...(route.kind === 'session' && route.session.hasOwnTools && { sessionTools: () => this.toolsOf(dispatch) }),
      });
    } catch (error) {
      const isAnonymous = caller.principal === undefined;
      if (isAnonymous && error instanceof DomainError && error.code === 'permission_denied') throw credentialMissing();
      throw toProxyError(error);
    }
  }

  /** The upstream says so, in a stream that it sends to this caller. */
  listChanged({ caller, route }: Unsent): void {
    if (route.kind === 'session') this.sessionTools.forget(route.session.key);
    this.catalog.refresh(caller.connection);
  }

  private async toolsOf({ caller, route, scope }: Unsent): Promise<ToolList> {
    if (route.kind === 'shared') throw new Error('A shared session has no tools of its own.');
    const session = sessionAtUpstream(route, caller);
    const channel = await this.channels.session(caller.connection, session);
    return this.sessionTools.of(session.key, channel, { signal: scope.signal, caller: caller.key });
  }
}
