import { redisServerCommand } from '../../support/redis-server.js';
import { redisStreams } from '../../support/stream-backends.js';
import { approvalsContract } from './approvals-between-processes.contract.js';

const redisServer = redisServerCommand();
if (redisServer === undefined) {
  console.warn('Neither redis-server nor valkey-server is on the PATH: approvals are not tested on Redis.');
} else {
  approvalsContract('Redis', () => redisStreams(redisServer));
}
