import type { ChangeListener, Listening } from '../contract/change-listener.js';
import type { ListenOptions } from '../contract/upstream.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { ExchangeOptions, OutgoingMessage, UpstreamAnswer } from '../messages/upstream-channel.js';
import type { McpSession } from '../session/mcp-session.js';
import { followNotifications } from './notification-stream.js';
import { subscriptionMessage } from './subscription-message.js';

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
