import { Injectable } from '@nestjs/common';
import type { CallDeadline } from '../../upstreams/contract/call-deadline.js';
import type { ExchangeOptions, OutgoingMessage, UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';
import { type SessionAtUpstream, UpstreamChannels } from '../../upstreams/channels/upstream-channels.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import { UpstreamHealth } from '../../upstreams/pool/upstream-health.js';
import type { InboundMessage, InboundRequest } from '../protocol/inbound-message.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { uniqueId } from './relay/unique-id.js';
import { storedInitialize } from './session/initialize-request.js';
import type { Route } from './route.js';

/** What is sent, in which way. */
export interface Dispatch {
  readonly caller: ProxyCaller;
  readonly route: Route;
  readonly message: InboundMessage;
  /** Headers for the upstream. */
  readonly headers: Readonly<Record<string, string>>;
  readonly scope: CallDeadline;
}

export interface Sent {
  readonly answer: UpstreamAnswer;
  /** The id that was sent instead of the caller's, JSON text. */
  readonly sentId?: string | undefined;
}

/** Sends callers' messages upstream, as the bytes that came. Only a request that shares a session gets another id. */
@Injectable()
export class UpstreamSender {
  constructor(
    private readonly channels: UpstreamChannels,
    private readonly health: UpstreamHealth,
  ) {}

  /** @throws DomainError `connection_unavailable`, UpstreamError */
  send(dispatch: Dispatch): Promise<Sent> {
    return this.health.watch(dispatch.caller.connection, () => this.post(dispatch));
  }

  private async post(dispatch: Dispatch): Promise<Sent> {
    const { caller, route, message, headers, scope } = dispatch;
    const options = new ScopedExchange(headers, scope, caller.key);
    const sentId = message.kind === 'request' && isShared(dispatch) ? uniqueId() : undefined;
    const outgoing = toOutgoing(message, sentId);
    if (route.kind !== 'shared') {
      return { answer: await this.postInSession(dispatch, route, outgoing), sentId };
    }
    const channel = this.channels.pooled(caller.connection);
    if (sentId !== undefined) {
      // In the legacy era a closed connection cancels nothing: the upstream has to be told.
      scope.onStop(() => void channel.cancel(sentId, caller.key));
    }
    return { answer: await channel.post(outgoing, options), sentId };
  }

  private async postInSession(
    { caller, headers, scope: { signal } }: Dispatch,
    route: Exclude<Route, { kind: 'shared' }>,
    outgoing: OutgoingMessage,
  ): Promise<UpstreamAnswer> {
    const { connection } = caller;
    const options = { headers, signal, caller: caller.key };
    const channel = await this.channels.session(connection, sessionAtUpstream(route, caller));
    try {
      return await channel.post(outgoing, options);
    } catch (error) {
      const isLost = error instanceof UpstreamError && error.kind === 'session_lost';
      if (!isLost || route.kind !== 'session' || route.renew === undefined) throw error;
      const renewed = { kind: 'session', session: await route.renew() } as const;
      const next = await this.channels.session(connection, sessionAtUpstream(renewed, caller));
      return next.post(outgoing, options);
    }
  }
}

/** The options of an exchange that ends with its scope. Of a class: a literal with an accessor is made anew each time, slowly. */
class ScopedExchange implements ExchangeOptions {
  constructor(
    readonly headers: Readonly<Record<string, string>>,
    private readonly scope: CallDeadline,
    readonly caller: string,
  ) {}

  get signal(): AbortSignal {
    return this.scope.signal;
  }

  onStop(callback: () => void): void {
    this.scope.onStop(callback);
  }
}

/** Do other callers send requests in the same session, or to an upstream that keeps none and may mix them up? */
export function isShared({ caller, route }: Pick<Dispatch, 'caller' | 'route'>): boolean {
  if (route.kind !== 'session') return route.kind === 'shared';
  return caller.connection.type === 'HTTP' && route.session.upstreamId === undefined;
}

function toOutgoing(message: InboundMessage, sentId: string | undefined): OutgoingMessage {
  const { body, method } = message;
  if (message.kind !== 'request') return { body, ...(method !== undefined && { method }) };
  if (sentId === undefined) return { body, method: message.method, id: message.id };
  return { body: withId(message, sentId), method: message.method, id: sentId };
}

/** @param id JSON text, ASCII */
function withId({ body, idStart, idEnd }: InboundRequest, id: string): Buffer {
  const changed = Buffer.allocUnsafe(body.length - (idEnd - idStart) + id.length);
  body.copy(changed, 0, 0, idStart);
  changed.write(id, idStart, 'latin1');
  body.copy(changed, idStart + id.length, idEnd);
  return changed;
}

/**
 * The caller's own session; none for a message that opens one or stands by itself.
 * @param caller for whom a program is counted
 */
export function sessionAtUpstream(route: Exclude<Route, { kind: 'shared' }>, caller?: ProxyCaller): SessionAtUpstream {
  const callerId = caller?.principal?.apiKeyId;
  if (route.kind === 'opening') return { key: route.key, callerId };
  if (route.kind === 'stateless') return { key: 'none' };
  const { key, upstreamId, initialize } = route.session;
  return { key, upstreamId, callerId, initialize: initialize === undefined ? undefined : storedInitialize(initialize) };
}
