import { redisServerCommand } from '../../support/redis-server.js';
import { postgresStreams, redisStreams } from '../../support/stream-backends.js';
import { steeringKillsContract } from './steering-kills.contract.js';

steeringKillsContract('PostgreSQL', postgresStreams);
const redisServer = redisServerCommand();
if (redisServer === undefined)
  console.warn('No redis-server is on the PATH: messages for runs of killed workers are not tested on Redis.');
else steeringKillsContract('Redis', () => redisStreams(redisServer));
