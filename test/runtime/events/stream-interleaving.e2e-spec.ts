import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type EventStoreBackend, postgresBackend, redisBackend } from '../../support/event-store-fixtures.js';
import { redisServerCommand } from '../../support/redis-server.js';
import { execute, interleavings, type StorePair } from './stream-interleaving.js';

/** Other interleavings: `INTERLEAVING_SEED=7 INTERLEAVINGS=500 npm test -- test/runtime/events/stream-interleaving`. */
const SEED = Number(process.env['INTERLEAVING_SEED'] ?? 1);
const INTERLEAVINGS = Number(process.env['INTERLEAVINGS'] ?? 25);
const WITHIN_MS = 60_000 + 2_000 * INTERLEAVINGS;

const redisServer = redisServerCommand();
const backends: [name: string, start: () => Promise<EventStoreBackend>][] = [['PostgreSQL', postgresBackend]];
if (redisServer === undefined) {
  console.warn('Neither redis-server nor valkey-server is on the PATH. Skipping the interleavings on Redis.');
} else backends.push(['Redis', () => redisBackend(redisServer)]);

describe.each(backends)('the run event bus on %s', (_, start) => {
  let backend: EventStoreBackend;
  let stores: StorePair;

  beforeAll(async () => {
    backend = await start();
    stores = [backend.store(), backend.store()];
  });
  afterAll(() => backend?.close());

  it(
    'gives each reader the contiguous stream or says that it has expired, however writers, readers and losses interleave',
    async () => {
      const tally = { whole: 0, expired: 0 };
      const property = fc.asyncProperty(interleavings, async (plan) => {
        for (const outcome of await execute(backend, stores, plan)) tally[outcome]++;
      });
      await fc.assert(property, { seed: SEED, numRuns: INTERLEAVINGS, endOnFailure: true });
      expect(tally.whole).toBeGreaterThan(0);
      expect(tally.expired).toBeGreaterThan(0);
    },
    WITHIN_MS,
  );
});
