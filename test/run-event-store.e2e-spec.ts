import { runEventDeliveryContract } from './run-event-delivery.contract.js';
import { runEventStoreContract } from './run-event-store.contract.js';
import { postgresBackend, redisBackend } from './support/event-store-fixtures.js';
import { redisServerCommand } from './support/redis-server.js';

runEventStoreContract('PostgreSQL', postgresBackend);
runEventDeliveryContract('PostgreSQL', postgresBackend);

const redisServer = redisServerCommand();
if (redisServer === undefined) {
  console.warn('Neither redis-server nor valkey-server is on the PATH: the Redis adapter is not tested.');
} else {
  runEventStoreContract('Redis', () => redisBackend(redisServer));
  runEventDeliveryContract('Redis', () => redisBackend(redisServer));
}
