/**
 * `npm run bench:run-latency`: how long a run takes to show its first chunk, how many runs a second there are, and what an
 * idle stream costs, on PostgreSQL and on Redis, beside bare BullMQ and a bare socket in the same run.
 * Starts everything that it needs, on loopback and in a temporary folder, and cleans up.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { generateApiKey } from '../dist/common/api-key-value.js';
import { attachEmbeddedPostgres } from '../dist/database/embedded/embedded-postgres.js';
import { migrateQueue } from '../dist/queue/migrate-queue.js';
import { compare, METHOD } from './lib/compare.mjs';
import { startRedis } from './lib/redis.mjs';
import { machine, table } from './lib/report.mjs';

const PEER_DATABASE = 'peer';

const folder = await mkdtemp(join(tmpdir(), 'signalbox-bench-'));
// The embedded server may run as another user, who has to pass through.
await chmod(folder, 0o711);
const dataDir = join(folder, 'data');
const setUp = { dataDir, folder, apiKey: generateApiKey(), openPeerDatabase };

try {
  console.log(`${machine()}\n`);
  console.log(`${table('PostgreSQL', await compare(setUp))}\n`);
  const redis = await startRedis(folder);
  if (redis === undefined) {
    console.log('Redis: SKIPPED, there is no redis-server or valkey-server on the PATH.\n');
  } else {
    try {
      console.log(`${table('Redis', await compare({ ...setUp, redisUrl: redis.url }))}\n`);
    } finally {
      await redis.stop();
    }
  }
  console.log(METHOD.join('\n'));
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** A database of the peer's own on the server that the service has started, with BullMQ's schema. */
async function openPeerDatabase() {
  const { url } = await attachEmbeddedPostgres(dataDir);
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE DATABASE ${PEER_DATABASE}`);
  await client.end();
  const peer = new URL(url);
  peer.pathname = PEER_DATABASE;
  await migrateQueue(peer.href);
  return peer.href;
}
