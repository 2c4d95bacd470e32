import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRedis, type RedisClient } from '../../../src/platform/redis/open-redis.js';
import { RedisRunEventStore } from '../../../src/runtime/events/redis-run-event-store.js';
import { eventually } from '../../support/eventually.js';
import { HeldSentinel } from '../../support/held-sentinel.js';
import { RedisProcess } from '../../support/redis-process.js';
import { redisAddress, redisServerCommand } from '../../support/redis-server.js';

const command = redisServerCommand() ?? '';
const ifRedis = command === '' ? describe.skip : describe;
const TOPIC = { organizationId: 'organization', threadId: 'thread' };
/** Longer than the store waits for an answer to SUBSCRIBE. */
const UNANSWERED_MS = 2_500;

ifRedis('A connection that asks a Sentinel for the master', () => {
  let master: RedisProcess;
  let sentinel: HeldSentinel;
  let client: RedisClient | undefined;
  let store: RedisRunEventStore | undefined;

  beforeEach(async () => {
    master = await RedisProcess.start(command);
    sentinel = await HeldSentinel.start(master.port);
  });

  afterEach(async () => {
    client?.disconnect();
    await store?.close();
    sentinel.close();
    await master.stop();
  });

  it('survives that its former connection hears of the switch', async () => {
    client = openRedis(redisAddress(sentinel.url), { maxRetriesPerRequest: null, retryStrategy: () => 20 });
    client.on('error', () => undefined);
    await client.ping();
    await eventually(() => expect(sentinel.listening).toBe(1));

    sentinel.hold();
    await master.kill();
    await eventually(() => expect(sentinel.waiting).toBe(1));
    sentinel.announceSwitch();
    await master.restart();
    const ready = once(client, 'ready');
    sentinel.release();
    await ready;
    await expect(client.ping()).resolves.toBe('PONG');
  });

  it('survives that a subscription of the former connection times out', async () => {
    store = new RedisRunEventStore({ address: redisAddress(sentinel.url), log: () => undefined });
    const received: string[] = [];
    await store.subscribe(TOPIC, ({ type }) => received.push(type));

    sentinel.hold();
    // The server no longer answers, so that the subscription is under way when the connection is lost.
    process.kill(master.pid, 'SIGSTOP');
    const refused = expect(store.subscribe({ ...TOPIC, threadId: 'other' }, () => undefined)).rejects.toThrow();
    await master.kill();
    await eventually(() => expect(sentinel.waiting).toBeGreaterThanOrEqual(2));
    await Promise.all([refused, sleep(UNANSWERED_MS)]);
    await master.restart();
    sentinel.release();
    await eventually(() => expect(received).toContain('resync'));
    const unsubscribe = await store.subscribe({ ...TOPIC, threadId: 'third' }, () => undefined);
    unsubscribe();
  });
});
