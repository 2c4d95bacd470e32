import { Injectable } from '@nestjs/common';
import { DomainError } from '../../core/domain-error.js';
import { networkOf } from '../../core/network-of.js';
import { announceLimits } from '../../platform/limits/limit-headers.js';
import { ProxyTelemetry } from '../../platform/telemetry/proxy-telemetry.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import type { Invocation } from '../../upstreams/invocation.js';
import { ToolInvoker } from '../../upstreams/tool-invoker.js';
import { type InboundRequest, traceContextOf } from '../protocol/inbound-message.js';
import { credentialMissing } from '../protocol/proxy-caller.js';
import { SIGN_IN } from '../protocol/sign-in-tool.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import { pooledSession, SessionTools } from './session/session-tools.js';
import { standInRefusal } from './sign-in-stand-in.js';
import { hasOwnTools, type McpRequestContext } from './upstream-router.js';
import { sessionAtUpstream } from './upstream-sender.js';

/** A request that can be sent: the headers that are added to the upstream request, and how to report the outcome. */
export type Admission = Pick<Invocation, 'traceHeaders' | 'settle'>;

/** Decides whether a request may be sent. `ToolInvoker` admits and records tool calls; other requests are measured. */
@Injectable()
export class RequestAdmission {
  constructor(
    private readonly invoker: ToolInvoker,
    private readonly telemetry: ProxyTelemetry,
    private readonly sessionTools: SessionTools,
    private readonly catalog: ToolCatalog,
  ) {}

  /** @throws DomainError if a tool call is refused */
  async admit(context: McpRequestContext<InboundRequest>): Promise<Admission> {
    return context.message.method === 'tools/call' ? this.admitToolCall(context) : this.measure(context);
  }

  private measure({ request, caller, message }: McpRequestContext<InboundRequest>): Admission {
    const measured = this.telemetry.beginRequest({
      connectionId: caller.connection.id,
      method: message.method,
      requestId: request.id,
      incoming: traceContextOf(request.headers),
    });
    return {
      traceHeaders: measured.headers,
      settle: async ({ status, errorCode }) =>
        measured.end({ status: status === 'success' ? 'success' : 'error', errorCode: errorCode ?? undefined }),
    };
  }

  /**
   * @throws what `ToolInvoker.admitCall` throws; `credential_missing` instead of `permission_denied` without a
   *   credential
   */
  private async admitToolCall(context: McpRequestContext<InboundRequest>): Promise<Invocation> {
    const { caller, message, route, entryPoint, request, reply, deadline } = context;
    const { name, arguments: args } = message.params;
    if (typeof name !== 'string' || name === '') {
      throw new DomainError('invalid_rpc_request', '`params.name` must be the name of a tool.');
    }
    try {
      return await this.invoker.admitCall({
        connection: caller.connection,
        toolName: name,
        args,
        refusalFor: caller.refusalFor,
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
        ...(hasOwnTools(route) && {
          sessionTools: () => {
            const options = { signal: deadline.signal, caller: caller.key };
            const session = route.kind === 'pooled' ? pooledSession(route, caller) : sessionAtUpstream(route, caller);
            return this.sessionTools.toolsOf(caller.connection, session, options);
          },
        }),
      });
    } catch (error) {
      const refusal = toProxyError(error);
      if (caller.principal === undefined && refusal.code === 'permission_denied') throw credentialMissing();
      throw name === SIGN_IN ? await standInRefusal(refusal, caller, this.catalog) : refusal;
    }
  }
}
