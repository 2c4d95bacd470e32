import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditDoor } from '../../audit/audit-record.js';
import { ProxyTelemetry } from '../../telemetry/proxy-telemetry.js';
import { CallScope } from '../../upstreams/call-scope.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.service.js';
import { type InvocationOutcome, outcomeOf } from '../../upstreams/invocation.js';
import { requireActive } from '../../upstreams/require-active.js';
import { CallerResolver } from '../caller-resolver.service.js';
import { type InboundRequest, readMessage } from '../jsonrpc/inbound-message.js';
import { checkHeaders, forwardedHeaders, traceContextOf } from '../mcp-headers.js';
import { requireMethod } from '../method-rules.js';
import { OriginPolicy } from '../origin-policy.js';
import { relayAnswer } from '../relay/relay-answer.js';
import type { ToolListFilter } from '../relay/tool-list-filter.js';
import { SessionOpening } from '../session/session-opening.service.js';
import { toProxyError } from '../upstream-refusal.js';
import { ReplyWriter } from './reply-writer.service.js';
import { Router } from './router.service.js';
import { type Dispatch, Sender } from './sender.service.js';
import { ToolCalls } from './tool-calls.service.js';

/** What happens to a request on its way: what it needs sent along, and where its end is told. */
export interface Measured {
  readonly traceHeaders: Readonly<Record<string, string>>;
  settle(outcome: InvocationOutcome): Promise<void>;
}

/** One POST of the MCP transport: from the caller's bytes to the upstream and back. */
@Injectable()
export class McpExchange {
  constructor(
    private readonly origins: OriginPolicy,
    private readonly callers: CallerResolver,
    private readonly router: Router,
    private readonly toolCalls: ToolCalls,
    private readonly telemetry: ProxyTelemetry,
    private readonly sender: Sender,
    private readonly sessions: SessionOpening,
    private readonly catalog: ToolCatalog,
    private readonly writer: ReplyWriter,
  ) {}

  /** @throws DomainError */
  async post(request: FastifyRequest, reply: FastifyReply, door: AuditDoor): Promise<void> {
    this.origins.check(request.headers);
    const message = readMessage(request.body);
    checkHeaders(request.headers, message);
    const caller = await this.callers.resolve(request);
    requireMethod(message, caller);
    const route = this.router.routeOf(request, message, caller);
    const scope = new CallScope(undefined, caller.connection.timeoutMs);
    reply.raw.once('close', () => (reply.raw.writableFinished ? scope.end() : scope.cancel()));
    const dispatch = { caller, route, message, scope };
    if (message.kind === 'request') await this.answer(request, reply, door, { ...dispatch, message });
    else await this.pass(request, reply, dispatch);
  }

  private async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    door: AuditDoor,
    dispatch: Omit<Dispatch, 'headers'> & { message: InboundRequest },
  ): Promise<void> {
    const { message, route, scope, caller } = dispatch;
    const measured =
      message.method === 'tools/call'
        ? await this.toolCalls.admit(request, door, dispatch)
        : this.measure(request, dispatch);
    try {
      requireActive(caller.connection);
      const headers = { ...headersFor(request, route), ...measured.traceHeaders };
      const { answer, sentId } = await this.sender.send({ ...dispatch, headers });
      if (route.kind === 'opening') this.sessions.announce(reply, answer, dispatch);
      const relayed = await relayAnswer(answer, {
        callerId: message.id,
        sentId,
        acceptsStream: request.headers.accept?.includes('text/event-stream') === true,
        requestId: request.id,
        filter: this.filterFor(dispatch),
        onListChanged: () => this.toolCalls.listChanged(dispatch),
        explain: (error) => scope.explain(error),
        settle: (outcome) => measured.settle(outcome),
      });
      this.writer.write(request, reply, relayed, answer.headers);
    } catch (error) {
      const cause = scope.explain(error);
      await measured.settle(outcomeOf(cause));
      throw toProxyError(cause);
    }
  }

  /** A notification, or an answer to a request of the upstream. A caller without a session sends it to nobody. */
  private async pass(request: FastifyRequest, reply: FastifyReply, dispatch: Omit<Dispatch, 'headers'>): Promise<void> {
    const { caller, route, scope } = dispatch;
    requireActive(caller.connection);
    if (route.kind !== 'shared') {
      try {
        const { answer } = await this.sender.send({ ...dispatch, headers: headersFor(request, route) });
        answer.body.resume();
      } catch (error) {
        throw toProxyError(scope.explain(error));
      }
    }
    await reply.status(202).send();
  }

  private measure(request: FastifyRequest, { caller, message }: Omit<Dispatch, 'headers'>): Measured {
    const measured = this.telemetry.begin({
      connectionId: caller.connection.id,
      toolName: '',
      toolLabel: '',
      method: message.method ?? '',
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

  /** A list passes as it came to a caller who may call everything on it. */
  private filterFor({ caller, message, route }: Omit<Dispatch, 'headers'>): ToolListFilter | undefined {
    if (message.method !== 'tools/list' || caller.holdsAll) return undefined;
    const isEveryonesList = route.kind === 'shared' && message.params['cursor'] === undefined;
    return {
      shows: (tool) => caller.sees(tool),
      ...(isEveryonesList && { onComplete: (tools) => this.catalog.learn(caller.connection, tools) }),
    };
  }
}

/** Sessions and the modern era bring MCP headers of their own; in a shared session the service's own ones count. */
export function headersFor(request: FastifyRequest, route: Dispatch['route']): Record<string, string> {
  const own = { 'x-request-id': request.id };
  return route.kind === 'shared' ? own : { ...forwardedHeaders(request.headers), ...own };
}
