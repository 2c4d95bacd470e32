import { redisServerCommand } from '../../support/redis-server.js';
import { redisStreams } from '../../support/stream-backends.js';
import { waitingContract } from './waiting-between-processes.contract.js';

const redisServer = redisServerCommand();
if (redisServer === undefined) {
  console.warn('Neither redis-server nor valkey-server is on the PATH: waiting for runs is not tested on Redis.');
} else {
  waitingContract('Redis', () => redisStreams(redisServer));
}
