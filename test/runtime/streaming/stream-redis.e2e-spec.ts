import { streamLifetimeContract } from './stream-lifetime.contract.js';
import { streamContract } from './stream.contract.js';
import { redisServerCommand } from '../../support/redis-server.js';
import { redisStreams } from '../../support/stream-backends.js';

const redisServer = redisServerCommand();
if (redisServer === undefined) {
  console.warn('Neither redis-server nor valkey-server is on the PATH: the stream is not tested on Redis.');
} else {
  streamContract('Redis', () => redisStreams(redisServer));
  streamLifetimeContract('Redis', () => redisStreams(redisServer));
}
