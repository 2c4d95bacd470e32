import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { redisServerCommand } from '../support/redis-server.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { type HostileTarget, startHostileTarget } from './harness.js';

const OUTAGE_MS = 2_000;
const OUTAGES = 3;
/** A connection that falls silent is closed after some seconds, and its work starts again. */
const GIVING_UP_MS = 15_000;

const backends = [
  { queue: 'PostgreSQL', redis: false },
  ...(redisServerCommand() === undefined ? [] : [{ queue: 'Redis', redis: true }]),
];
const kinds: [kind: string, leave: (store: TcpProxy) => unknown, comeBack: (store: TcpProxy) => unknown][] = [
  ['refuses connections', (store) => store.cut(), (store) => store.restore()],
  ['falls silent', (store) => store.freeze(), (store) => store.thaw()],
];

/** Stores that leave and come back while callers post, stream and call: every answer is correct and arrives soon. */
describe.each(backends)('outages with the queue on $queue', ({ redis }) => {
  let target: HostileTarget;

  beforeAll(async () => {
    target = await startHostileTarget({ redis, storesCanLeave: true, env: { RUN_LOCK_MS: '2000' } });
  }, 60_000);

  afterAll(() => target.close());

  describe.each(redis ? (['redis', 'database'] as const) : (['database'] as const))('of the %s', (name) => {
    it.each(kinds)('that %s', async (_kind, leave, comeBack) => {
      const store = target.stores[name];
      if (store === undefined) throw new Error(`There is no relay to the ${name}.`);
      const attack = async (): Promise<void> => {
        for (let i = 0; i < OUTAGES; i++) {
          await leave(store);
          await sleep(OUTAGE_MS);
          await comeBack(store);
          await sleep(OUTAGE_MS);
        }
      };
      await target.withstands(attack, { outageMs: OUTAGE_MS + GIVING_UP_MS });
      expect((await target.tool('COLLECTION_THREADS_LIST')).status).toBe(200);
    });
  });
});
