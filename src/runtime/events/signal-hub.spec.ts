import { describe, expect, it } from '@jest/globals';
import { EventStoreClosedError, type RunSignal } from './run-event-store.js';
import { SignalHub, type SignalLink } from './signal-hub.js';

/** A connection that records its subscriptions and replies when the test allows it. */
class ScriptedLink implements SignalLink {
  readonly channels = new Set<string>();
  gate: Promise<void> = Promise.resolve();

  async apply(add: readonly string[], remove: readonly string[]): Promise<void> {
    await this.gate;
    remove.forEach((channel) => this.channels.delete(channel));
    add.forEach((channel) => this.channels.add(channel));
  }
}

const tick = (): Promise<void> => new Promise(setImmediate);

function connected() {
  const hub = new SignalHub('cancel', 50);
  const link = new ScriptedLink();
  hub.attach(link);
  return { hub, link };
}

function recorder() {
  const signals: RunSignal[] = [];
  return { signals, listener: (signal: RunSignal) => void signals.push(signal) };
}

describe('SignalHub', () => {
  it('subscribes to a channel once and unsubscribes with its last listener', async () => {
    const { hub, link } = connected();
    const { signals, listener } = recorder();
    const stops = await Promise.all([hub.subscribe('a', listener), hub.subscribe('a', listener)]);
    hub.receive('a', 'run');
    expect(signals).toHaveLength(2);
    stops[0]();
    stops[0]();
    hub.receive('a', 'run');
    expect(signals).toHaveLength(3);
    expect([...link.channels]).toEqual(['a']);
    stops[1]();
    await tick();
    expect(link.channels.size).toBe(0);
  });

  it('ends up subscribed when a listener is added during an unsubscribe', async () => {
    const { hub, link } = connected();
    const { listener } = recorder();
    const stop = await hub.subscribe('a', listener);
    const gate = Promise.withResolvers<void>();
    link.gate = gate.promise;
    stop();
    const again = hub.subscribe('a', listener);
    gate.resolve();
    await again;
    expect([...link.channels]).toEqual(['a']);
  });

  it('restores subscriptions on a new link before it signals resync', async () => {
    const { hub } = connected();
    const { signals, listener } = recorder();
    await hub.subscribe('a', listener);
    hub.detach();
    const fresh = new ScriptedLink();
    const gate = Promise.withResolvers<void>();
    fresh.gate = gate.promise;
    hub.attach(fresh);
    await tick();
    expect(signals).toEqual([]);
    gate.resolve();
    await tick();
    expect([...fresh.channels]).toEqual(['a']);
    expect(signals).toEqual([{ type: 'resync' }]);
  });

  it('continues with a new link when the old one fails during a round', async () => {
    const { hub, link } = connected();
    const { listener } = recorder();
    const gate = Promise.withResolvers<void>();
    link.gate = gate.promise;
    const subscribed = hub.subscribe('a', listener);
    await tick();
    const fresh = new ScriptedLink();
    hub.detach();
    hub.attach(fresh);
    gate.reject(new Error('connection lost'));
    await subscribed;
    expect([...fresh.channels]).toEqual(['a']);
  });

  it('rejects a subscription that times out and removes it', async () => {
    const hub = new SignalHub('cancel', 10);
    const { signals, listener } = recorder();
    await expect(hub.subscribe('a', listener)).rejects.toMatchObject({ code: 'storage_unavailable' });
    const link = new ScriptedLink();
    hub.attach(link);
    await tick();
    hub.receive('a', 'run');
    expect(link.channels.size).toBe(0);
    expect(signals).toEqual([]);
  });

  it('delivers notices while a listener is subscribed', async () => {
    const { hub, link } = connected();
    const heard: string[] = [];
    const stop = hub.onNotice((notice) => heard.push(notice));
    await tick();
    expect([...link.channels]).toEqual(['cancel']);
    hub.receive('cancel', 'run');
    expect(heard).toEqual(['run']);
    stop();
    await tick();
    expect(link.channels.size).toBe(0);
  });

  it('rejects pending subscriptions when it is closed', async () => {
    const hub = new SignalHub('cancel');
    const waiting = hub.subscribe('a', recorder().listener);
    hub.close();
    await expect(waiting).rejects.toThrow(EventStoreClosedError);
    await expect(hub.subscribe('a', recorder().listener)).rejects.toThrow(EventStoreClosedError);
  });
});
