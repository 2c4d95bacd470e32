import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ChangeReader } from '../../../upstreams/channels/upstream-subscription.js';
import type { WantedChanges } from '../../../upstreams/contract/list-change.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import type { SessionStreams } from '../../forwarding/session/session-streams.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import type { ChangeSubscriptions } from './change-subscriptions.js';
import { SessionSubscriptions } from './session-subscriptions.js';

const MINUTE = 60_000;
const RETRY_MS = 5_000;
const session = { key: 'k' } as Session;
const [one, two] = [{ key: 'one' } as ProxyCaller, { key: 'two' } as ProxyCaller];
const signal = new AbortController().signal;

/** A subscription at the upstream, which accepts everything but `no://`. */
interface Begun {
  readonly reader: ChangeReader;
  readonly uris: readonly string[];
  readonly caller: ProxyCaller;
  isStopped: boolean;
}

let begun: Begun[];
let held: number;
let sent: string[];
let isPermitted: boolean;
let subscriptions: SessionSubscriptions;

const upstream = {
  begin(reader: ChangeReader, { uris }: WantedChanges, caller: ProxyCaller) {
    const subscription: Begun = { reader, uris, caller, isStopped: false };
    begun.push(subscription);
    const opened = Promise.resolve(uris.filter((uri) => !uri.startsWith('no://')));
    return { opened, stop: () => void (subscription.isStopped = true) };
  },
  hold(_caller: ProxyCaller, resources: number) {
    held += resources;
    return () => void (held -= resources);
  },
} as unknown as ChangeSubscriptions;

beforeEach(() => {
  jest.useFakeTimers();
  [begun, held, sent, isPermitted] = [[], 0, [], true];
  const send = (_: Session, { params: { uri } }: { params: { uri: string } }): void => void sent.push(uri);
  subscriptions = new SessionSubscriptions(upstream, { send } as unknown as SessionStreams);
});
afterEach(() => void jest.useRealTimers());

const subscribe = (own: string, address = own): Promise<boolean> => {
  const find = async (caller: ProxyCaller) => (isPermitted ? { caller } : undefined);
  return subscriptions.subscribe({ session, caller: one }, { connectionId: 'c', own, address, find }, signal);
};
const active = (): (readonly string[])[] => begun.filter(({ isStopped }) => !isStopped).map(({ uris }) => uris);
/** Runs what is due until so many subscriptions have begun. */
const eventuallyBegun = async (count: number): Promise<void> => {
  for (let turns = 0; begun.length < count && turns < 100; turns++) await Promise.resolve();
  expect(begun.length).toBeGreaterThanOrEqual(count);
};
const settled = (): Promise<void> => jest.advanceTimersByTimeAsync(0);

describe('the subscriptions of a session', () => {
  it('are one at the upstream while the client listens, without what it has refused', async () => {
    const stop = subscriptions.listen({ session, caller: one });
    expect([await subscribe('a'), await subscribe('no://b'), await subscribe('c')]).toEqual([true, false, true]);
    expect(active()).toEqual([['a', 'c']]);
    expect(held).toBe(2);
    await subscriptions.unsubscribe(session, 'a');
    expect(active()).toEqual([['c']]);
    stop();
    expect(active()).toEqual([]);
    expect(held).toBe(1);
  });

  it('end ten minutes after the client has last listened', async () => {
    await subscribe('a');
    subscriptions.listen({ session, caller: one })();
    jest.advanceTimersByTime(10 * MINUTE - 1);
    expect(held).toBe(1);
    jest.advanceTimersByTime(1);
    expect(held).toBe(0);
    subscriptions.listen({ session, caller: one });
    await settled();
    expect([active(), sent]).toEqual([[], []]);
  });

  it('are those of the caller that listens, as it is permitted then', async () => {
    await subscribe('a');
    subscriptions.listen({ session, caller: two });
    await settled();
    expect(begun.at(-1)?.caller).toBe(two);
    expect(sent).toEqual(['a']);
    isPermitted = false;
    begun.at(-1)?.reader.failed(new UpstreamError('cancelled', 'The connection was changed.'));
    await jest.advanceTimersByTimeAsync(RETRY_MS);
    expect(active()).toEqual([]);
    isPermitted = true;
    await jest.advanceTimersByTimeAsync(RETRY_MS);
    expect(active()).toEqual([['a']]);
    expect(sent).toEqual(['a', 'a']);
  });

  it('are opened again when they are lost, also before they are used, and all count as changed', async () => {
    subscriptions.listen({ session, caller: one });
    const first = subscribe('a');
    await eventuallyBegun(1);
    begun[0]?.reader.resourceUpdated('a');
    begun[0]?.reader.failed(new UpstreamError('unreachable', 'Gone'));
    expect([await first, sent]).toEqual([true, ['a']]);
    await jest.advanceTimersByTimeAsync(RETRY_MS);
    expect([begun.length, sent]).toEqual([2, ['a', 'a']]);
    begun[1]?.reader.failed(new UpstreamError('unreachable', 'Gone'));
    await subscribe('b');
    expect([active(), sent]).toEqual([[['a', 'b']], ['a', 'a', 'a']]);
    const count = begun.length;
    await jest.advanceTimersByTimeAsync(RETRY_MS);
    expect(begun).toHaveLength(count);
  });

  it('name a part of a resource only where the client has its address', async () => {
    subscriptions.listen({ session, caller: one });
    await subscribe('note://a');
    await subscribe('note://b', 'note://b?connection=1');
    for (const uri of ['note://a/1', 'note://b/1', 'note://b', 'note://c']) begun.at(-1)?.reader.resourceUpdated(uri);
    expect(sent).toEqual(['note://a/1', 'note://b?connection=1', 'note://b?connection=1']);
  });

  it('hold nothing when the upstream cannot be reached, or the session has ended', async () => {
    isPermitted = false;
    await expect(subscribe('a')).rejects.toThrow('not permitted');
    expect(held).toBe(0);
    isPermitted = true;
    const subscribing = subscribe('a');
    subscriptions.endSession(session);
    await expect(subscribing).rejects.toThrow('has ended');
    subscriptions.listen({ session, caller: one });
    await subscribe('b');
    subscriptions.endSession(session);
    expect([active(), held]).toEqual([[], 0]);
  });
});
