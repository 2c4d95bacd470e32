import type { FastifyReply } from 'fastify';
import { onceClosed } from '../../http/once-closed.js';
import { CallDeadline } from '../../upstreams/contract/call-deadline.js';
import type { InboundMessage, InboundRequest } from '../protocol/inbound-message.js';
import type { McpRequestContext } from '../protocol/mcp-request-context.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import type { Session } from './session/sealed-sessions.js';

/**
 * How a message reaches its upstream: in the caller's own session, as the `initialize` that opens one, in a session shared by
 * callers without one, or statelessly, as every message of the modern era (MCP 2026-07-28).
 */
export type Route =
  | {
      readonly kind: 'session';
      readonly session: Session;
      /** Replace the caller's headers in a session that was opened in the caller's name. */
      readonly headers?: Readonly<Record<string, string>>;
      /** Rewrites an event of the answer for the caller; returns undefined for an event that is not for this caller. */
      readonly rewriteEvent?: (event: Buffer) => Buffer | undefined;
      /** Opens another session when the upstream no longer knows this one. */
      readonly renew?: () => Promise<Session>;
    }
  | { readonly kind: 'opening'; readonly key: string }
  | { readonly kind: 'shared' }
  | { readonly kind: 'stateless'; readonly headers?: Readonly<Record<string, string>> };

/** A request of the MCP transport on its way to one upstream. */
export interface ForwardingContext<M extends InboundMessage = InboundMessage> extends McpRequestContext<M> {
  readonly route: Route;
  readonly deadline: CallDeadline;
}

/** Starts the connection's time limit. The call is cancelled when the caller hangs up. */
export function startForwarding<M extends InboundMessage>(
  { request, reply, entryPoint, caller, message }: McpRequestContext<M>,
  route: Route,
): ForwardingContext<M> {
  const deadline = deadlineOfReply(reply, caller.connection.timeoutMs);
  return { request, reply, entryPoint, caller, message, route, deadline };
}

/** Is this the context of a request, which expects an answer? */
export function isRequest(context: ForwardingContext): context is ForwardingContext<InboundRequest> {
  return context.message.kind === 'request';
}

/** Do other callers send requests in the same session, or to an upstream without sessions that might mix up their ids? */
export function isShared({ caller, route }: { caller: ProxyCaller; route: Route }): boolean {
  if (route.kind !== 'session') return route.kind === 'shared';
  return caller.connection.type === 'HTTP' && route.session.upstreamId === undefined;
}

function deadlineOfReply(reply: FastifyReply, timeoutMs: number): CallDeadline {
  const deadline = new CallDeadline(undefined, timeoutMs);
  onceClosed(reply, () => (reply.raw.writableFinished ? deadline.end() : deadline.cancel()));
  return deadline;
}
