import { expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { STREAM_START } from '../../../src/runtime/events/run-event-store.js';
import { runEventDeliveryContract } from './run-event-delivery.contract.js';
import { runEventStoreContract } from './run-event-store.contract.js';
import { postgresBackend, redisBackend } from '../../support/event-store-fixtures.js';
import { redisServerCommand } from '../../support/redis-server.js';

runEventStoreContract('PostgreSQL', postgresBackend);
runEventDeliveryContract('PostgreSQL', postgresBackend);

const redisServer = redisServerCommand();
if (redisServer === undefined) {
  console.warn('Neither redis-server nor valkey-server is on the PATH. Skipping the tests of the Redis adapter.');
} else {
  runEventStoreContract('Redis', () => redisBackend(redisServer));
  runEventDeliveryContract('Redis', () => redisBackend(redisServer));

  it('Redis: a stream whose frames were evicted does not count as ended', async () => {
    const backend = await redisBackend(redisServer);
    try {
      const store = backend.store();
      const runId = randomUUID();
      const topic = { organizationId: randomUUID(), threadId: 't' };
      await store.start(topic, { runId, epoch: 'e', first: 1, frames: ['1', '2'], end: true }, 1, null);
      expect(await store.hasEnded(topic, runId)).toBe(true);
      await backend.evictFrames(runId);
      expect(await store.read(topic, runId, STREAM_START, 10)).toMatchObject({ known: false });
      expect(await store.hasEnded(topic, runId)).toBe(false);
    } finally {
      await backend.close();
    }
  });
}
