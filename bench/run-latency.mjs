/**
 * `npm run bench:run-latency`: measures the time to the first chunk of a run, the runs per second, and the memory of an
 * idle stream, on PostgreSQL and on Redis, compared with bare BullMQ and a bare socket in the same run, and the forms
 * of a request (`Prefer: wait`, the stream from the POST) with each other. It starts everything that it needs, on
 * loopback and in a temporary folder, and cleans up.
 *
 * --against <folder>  another checkout with a current build, such as the previous commit; measured in the same rounds
 * as `before`
 * --profile           only what a run costs on PostgreSQL, by statements and functions
 */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { generateApiKey } from '../dist/core/api-key-value.js';
import { startEmbeddedPostgres } from '../dist/platform/embedded-postgres/embedded-postgres.js';
import { migrateQueue } from '../dist/platform/queue/migrate-queue.js';
import { compare, METHOD } from './lib/compare.mjs';
import { createDatabase } from './lib/databases.mjs';
import { makeFolder } from './lib/folder.mjs';
import { formsTable } from './lib/forms.mjs';
import { startPeer } from './lib/peer.mjs';
import { startRedis } from './lib/redis.mjs';
import { machine, table } from './lib/report.mjs';
import { profileRuns } from './lib/run-profile.mjs';

const PEER_DATABASE = 'peer';

const { values } = parseArgs({ options: { against: { type: 'string' }, profile: { type: 'boolean' } } });
const folder = await makeFolder();
const apiKey = generateApiKey();
const checkouts = { ours: undefined, ...(values.against && { before: resolve(values.against) }) };

try {
  console.log(`${machine()}\n`);
  if (values.profile) {
    console.log(await profileRuns({ apiKey, services: servicesOn({}) }));
  } else {
    console.log(`${await postgresTable()}\n`);
    console.log(`${await redisTable()}\n`);
    console.log(METHOD.join('\n'));
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Measures on PostgreSQL. Each service and the peer have their own server. */
async function postgresTable() {
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'peer') });
  try {
    const databaseUrl = await openPeerDatabase(server.url);
    return tables(
      'PostgreSQL',
      await compare({ apiKey, folder, services: servicesOn({}), openPeer: () => startPeer({ databaseUrl }) }),
    );
  } finally {
    await server.stop();
  }
}

/** Measures on Redis. Each service and the peer have their own server. */
async function redisTable() {
  const servers = {};
  try {
    for (const name of [...Object.keys(checkouts), 'peer']) {
      servers[name] = await startRedis(folder);
      if (servers[name] === undefined) return 'Redis: SKIPPED (no redis-server or valkey-server on the PATH).';
    }
    const openPeer = () => startPeer({ redisUrl: servers.peer.url });
    return tables('Redis', await compare({ apiKey, folder, services: servicesOn(servers), openPeer }));
  } finally {
    for (const server of Object.values(servers)) await server?.stop();
  }
}

function tables(backend, figures) {
  return `${table(backend, figures)}\n\n${formsTable(backend, figures.forms)}`;
}

/** The options to start each service with; each has its own data folder. */
function servicesOn(redisServers) {
  const services = {};
  for (const [name, checkout] of Object.entries(checkouts)) {
    const dataDir = join(folder, name);
    services[name] = { dataDir, checkout, redisUrl: redisServers[name]?.url };
  }
  return services;
}

/** Creates a database with BullMQ's schema on a server. */
async function openPeerDatabase(url) {
  const databaseUrl = await createDatabase(url, PEER_DATABASE);
  await migrateQueue(databaseUrl);
  return databaseUrl;
}
