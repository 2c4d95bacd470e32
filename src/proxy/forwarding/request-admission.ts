import { Injectable } from '@nestjs/common';
import { DomainError } from '../../core/domain-error.js';
import { announceLimits } from '../../platform/limits/limit-headers.js';
import { networkOf } from '../../core/network-of.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import type { ToolList } from '../../upstreams/catalog/tool-list.js';
import { UpstreamChannels } from '../../upstreams/channels/upstream-channels.js';
import { ProxyTelemetry } from '../../platform/telemetry/proxy-telemetry.js';
import type { Invocation } from '../../upstreams/invocation.js';
import { ToolInvoker } from '../../upstreams/tool-invoker.js';
import { type InboundRequest, traceContextOf } from '../protocol/inbound-message.js';
import { signInPageOf } from '../protocol/json-rpc-error.js';
import { credentialMissing, type ProxyCaller } from '../protocol/proxy-caller.js';
import { NO_SIGN_IN_NEEDED, SIGN_IN } from '../protocol/sign-in-tool.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import type { ForwardingContext } from './upstream-router.js';
import { SessionTools } from './session/session-tools.js';
import { sessionAtUpstream } from './upstream-sender.js';

/** A request that can be sent: the headers that are added to the upstream request, and how to report the outcome. */
export type Admission = Pick<Invocation, 'traceHeaders' | 'settle'>;

/** Admits the requests of MCP clients, and begins to measure them. `ToolInvoker` admits and records tool calls. */
@Injectable()
export class RequestAdmission {
  constructor(
    private readonly invoker: ToolInvoker,
    private readonly telemetry: ProxyTelemetry,
    private readonly channels: UpstreamChannels,
    private readonly sessionTools: SessionTools,
    private readonly catalog: ToolCatalog,
  ) {}

  /** @throws what `ToolInvoker.admitCall` throws; `credential_missing` instead of `permission_denied` without a credential */
  async admitRequest(context: ForwardingContext<InboundRequest>): Promise<Admission> {
    return context.message.method === 'tools/call' ? this.admitToolCall(context) : this.measure(context);
  }

  private measure({ request, caller, message }: ForwardingContext<InboundRequest>): Admission {
    const measured = this.telemetry.begin({
      connectionId: caller.connection.id,
      toolName: '',
      toolLabel: '',
      method: message.method,
      requestId: request.id,
      streamable: false,
      incoming: traceContextOf(request.headers),
    });
    return {
      traceHeaders: measured.headers,
      settle: async ({ status, errorCode }) =>
        measured.end({ status: status === 'success' ? 'success' : 'error', errorCode: errorCode ?? undefined }),
    };
  }

  private async admitToolCall(context: ForwardingContext<InboundRequest>): Promise<Invocation> {
    const { caller, message, route, entryPoint, request, reply } = context;
    const { name, arguments: args } = message.params;
    if (typeof name !== 'string' || name === '') {
      throw new DomainError('invalid_rpc_request', '`params.name` must be the name of a tool.');
    }
    try {
      return await this.invoker.admitCall({
        connection: caller.connection,
        toolName: name,
        args,
        caller:
          caller.principal === undefined
            ? { ...caller.asToolCaller, address: networkOf(request.ip) }
            : caller.asToolCaller,
        ...(caller.connection.rateLimit !== null && { onLimited: (applied) => announceLimits(reply, applied) }),
        entryPoint,
        streamable: entryPoint === 'call_tool',
        ...(caller.agentId !== undefined && { agentId: caller.agentId }),
        permitted: (toolName) => caller.mayCall(toolName),
        trace: traceContextOf(request.headers),
        ...(route.kind === 'session' && route.session.hasOwnTools && { sessionTools: () => this.toolsOf(context) }),
      });
    } catch (error) {
      const refusal = toProxyError(error);
      if (caller.principal === undefined && refusal.code === 'permission_denied') throw credentialMissing();
      throw name === SIGN_IN ? await this.standInRefusal(refusal, caller) : refusal;
    }
  }

  /** Any grant on a connection permits its stand-in, which is no tool of the upstream. */
  private async standInRefusal(refusal: DomainError, { connection, holdsAny }: ProxyCaller): Promise<DomainError> {
    if (connection.oauth === null) return refusal;
    if (refusal.code === 'unknown_tool') return new DomainError('unknown_tool', NO_SIGN_IN_NEEDED);
    if (refusal.code !== 'permission_denied' || !holdsAny) return refusal;
    const hindrance = await this.catalog.recheck(connection).then(() => undefined, toProxyError);
    return hindrance !== undefined && signInPageOf(hindrance) !== undefined ? hindrance : refusal;
  }

  private async toolsOf({ caller, route, deadline }: ForwardingContext): Promise<ToolList> {
    if (route.kind === 'pooled') throw new Error('A session of the service has no tool list of its own.');
    const session = sessionAtUpstream(route, caller);
    const channel = await this.channels.session(caller.connection, session);
    return this.sessionTools.toolsOf(session.key, channel, { signal: deadline.signal, caller: caller.key });
  }
}
