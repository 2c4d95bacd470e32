import type { FastifyReply } from 'fastify';
import { onceClosed } from '../../http/once-closed.js';
import { CallDeadline } from '../../upstreams/contract/call-deadline.js';
import type { InboundMessage, InboundRequest } from '../protocol/inbound-message.js';
import type { McpRequestContext } from '../protocol/mcp-request-context.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import type { Session } from './session/sealed-sessions.js';

/**
 * The way that a message takes to its upstream: in the caller's own session, opening one, in a session that is shared with
 * other callers who have none, or by itself, as all messages of the modern era go (MCP 2026-07-28).
 */
export type Route =
  | {
      readonly kind: 'session';
      readonly session: Session;
      /** Instead of the caller's own, for a session that was opened in the caller's name. */
      readonly headers?: Readonly<Record<string, string>>;
      /** What an event of the answer is to the caller; undefined for one that is not for this caller. */
      readonly rewriteEvent?: (event: Buffer) => Buffer | undefined;
      /** Opens another session when the upstream has forgotten this one. */
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

/** From here on the connection's time limit runs; a caller who hangs up cancels the call. */
export function startForwarding<M extends InboundMessage>(
  { request, reply, entryPoint, caller, message }: McpRequestContext<M>,
  route: Route,
): ForwardingContext<M> {
  const deadline = deadlineOfReply(reply, caller.connection.timeoutMs);
  return { request, reply, entryPoint, caller, message, route, deadline };
}

/** Is this the context of a request, which wants an answer? */
export function isRequest(context: ForwardingContext): context is ForwardingContext<InboundRequest> {
  return context.message.kind === 'request';
}

/** Do other callers send requests in the same session, or to an upstream that keeps none and may mix them up? */
export function isShared({ caller, route }: { caller: ProxyCaller; route: Route }): boolean {
  if (route.kind !== 'session') return route.kind === 'shared';
  return caller.connection.type === 'HTTP' && route.session.upstreamId === undefined;
}

function deadlineOfReply(reply: FastifyReply, timeoutMs: number): CallDeadline {
  const deadline = new CallDeadline(undefined, timeoutMs);
  onceClosed(reply, () => (reply.raw.writableFinished ? deadline.end() : deadline.cancel()));
  return deadline;
}
