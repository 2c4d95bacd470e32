import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/client';
import type { ChangeListener, Listening } from '../contract/list-change.js';
import type { ListenOptions } from '../contract/upstream.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { ExchangeOptions, OutgoingMessage, UpstreamAnswer } from '../messages/upstream-channel.js';
import { type McpSession, CLIENT_INFO } from '../session/mcp-session.js';
import { followNotifications } from './notification-stream.js';

const LISTEN = 'subscriptions/listen';

/** The headers of a subscription over HTTP. */
export const LISTEN_HEADERS = { 'mcp-method': LISTEN };

/**
 * The request for a subscription (MCP 2026-07-28). The modern era has no sessions, so the request describes the client.
 * @param notifications the filter
 */
export function subscriptionMessage(
  { protocolVersion }: Pick<McpSession, 'protocolVersion'>,
  notifications: object,
  id = LISTEN,
): OutgoingMessage {
  const _meta = {
    [PROTOCOL_VERSION_META_KEY]: protocolVersion,
    [CLIENT_INFO_META_KEY]: CLIENT_INFO,
    [CLIENT_CAPABILITIES_META_KEY]: {},
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id, method: LISTEN, params: { _meta, notifications } });
  return { body: Buffer.from(body), method: LISTEN, id: JSON.stringify(id) };
}

/** Sends the request for a subscription to the upstream. */
type Send = (message: OutgoingMessage, options: Pick<ExchangeOptions, 'signal' | 'caller'>) => Promise<UpstreamAnswer>;

let count = 0;

/**
 * Subscribes to resources of an upstream of the modern era, for one listener alone. A stream that breaks off is opened
 * again. Resolves with what the upstream has acknowledged.
 * @param lifetime ends the subscription when aborted
 * @throws UpstreamError
 */
export async function listenToResources(
  session: McpSession,
  uris: readonly string[],
  listener: ChangeListener,
  { send, caller, signal, lifetime }: Required<ListenOptions> & { send: Send; lifetime: AbortSignal },
): Promise<Listening> {
  const stopping = new AbortController();
  const acknowledged = Promise.withResolvers<readonly string[]>();
  const following = AbortSignal.any([lifetime, stopping.signal]);
  const giveUp = (): void => acknowledged.reject(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  // What ends the session ends the subscription. Its other streams do not concern it.
  const unlisten = session.changes.add({
    listChanged: () => undefined,
    resourceUpdated: () => undefined,
    missed: () => undefined,
    ended: (fault) => listener.ended(fault),
  });
  const unwatch = session.watch();
  const stop = async (): Promise<void> => {
    unlisten();
    stopping.abort();
    unwatch();
  };
  const open = async (): Promise<UpstreamAnswer> => {
    const id = `signalbox-resources-${count++}`;
    try {
      const message = subscriptionMessage(session, { resourceSubscriptions: uris }, id);
      return await send(message, { signal: following, caller });
    } catch (error) {
      acknowledged.reject(error);
      throw error;
    }
  };
  const source = {
    open,
    changed: () => undefined,
    updated: (uri: string) => listener.resourceUpdated(uri),
    reopened: () => listener.missed(),
    asked: () => undefined,
    acknowledged: ({ resourceSubscriptions: honored }: Readonly<Record<string, unknown>>) =>
      acknowledged.resolve(Array.isArray(honored) ? uris.filter((uri) => honored.includes(uri)) : []),
  };
  const follow = async (): Promise<void> => {
    await followNotifications(source, [], following);
    // An upstream that refuses the subscription acknowledges nothing.
    acknowledged.resolve([]);
    if (!following.aborted) listener.ended(new UpstreamError('protocol', 'The upstream has ended the subscription.'));
  };
  void follow();
  try {
    return { uris: await acknowledged.promise, stop };
  } catch (error) {
    void stop();
    throw error;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
