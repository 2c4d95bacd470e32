import { streamRecoveryContract } from './stream-recovery.contract.js';
import { redisServerCommand } from '../../support/redis-server.js';
import { postgresStreams, redisStreams } from '../../support/stream-backends.js';

streamRecoveryContract('PostgreSQL', postgresStreams);

const redisServer = redisServerCommand();
if (redisServer === undefined) {
  console.warn('Neither redis-server nor valkey-server is on the PATH: recovery is not tested on Redis.');
} else {
  streamRecoveryContract('Redis', () => redisStreams(redisServer));
}
