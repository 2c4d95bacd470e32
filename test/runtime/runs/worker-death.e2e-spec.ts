import { redisServerCommand } from '../../support/redis-server.js';
import { postgresStreams, redisStreams } from '../../support/stream-backends.js';
import { workerDeathContract } from './worker-death.contract.js';

workerDeathContract('PostgreSQL', postgresStreams);
const redisServer = redisServerCommand();
if (redisServer === undefined)
  console.warn('No redis-server is on the PATH: the death of workers is not tested on Redis.');
else workerDeathContract('Redis', () => redisStreams(redisServer));
