import { redisServerCommand } from '../../support/redis-server.js';
import { postgresStreams, redisStreams } from '../../support/stream-backends.js';
import { askKillsContract } from './ask-kills.contract.js';

askKillsContract('PostgreSQL', postgresStreams);
const redisServer = redisServerCommand();
if (redisServer === undefined)
  console.warn('No redis-server is on the PATH: tasks of killed processes are not tested on Redis.');
else askKillsContract('Redis', () => redisStreams(redisServer));
