import { mkdtemp, readFile, rm, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setInterval, setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { Child } from '../../bench/lib/child.mjs';
import { generateApiKey } from '../../dist/core/api-key-value.js';
import { generateEncryptionKey } from '../../dist/core/config/encryption-keys.js';
import { startEmbeddedPostgres } from '../../dist/platform/embedded-postgres/embedded-postgres.js';
import { holdingsFile } from './holdings-file.mjs';
import { SoakClient } from './soak-client.mjs';
import { startUpstream } from './soak-upstream.mjs';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const MAIN = path('../../dist/main.js');
const PROBE = new URL('collect-on-signal.mjs', import.meta.url).href;
const SETTLE_WITHIN_MS = 60_000;
const SAMPLE_MS = 500;
const MIB = 1024 * 1024;

/** Starts PostgreSQL, upstreams and the service, and what the scenarios need: a connection, an agent, and a thread. */
export async function startSoak() {
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-soak-'));
  const postgres = await startEmbeddedPostgres({ dataDir });
  const upstream = await startUpstream();
  const member = await startUpstream();
  const apiKey = generateApiKey();
  const service = new Child(process.execPath, ['--expose-gc', '--import', PROBE, MAIN], {
    DATABASE_URL: postgres.url,
    REDIS_URL: process.env.SOAK_REDIS_URL,
    ENCRYPTION_KEYS: generateEncryptionKey('soak'),
    BOOTSTRAP_API_KEY: apiKey,
    BOOTSTRAP_ORG: undefined,
    NODE_ENV: 'production',
    LOG_LEVEL: 'error',
    ROLE: 'all',
    PORT: '0',
    METRICS_PORT: '0',
    BASE_URL: undefined,
    HOST: undefined,
    UPSTREAM_ALLOW_PRIVATE: 'true',
    STDIO_COMMANDS: process.execPath,
    // What ends when it is unused ends within the test.
    STREAM_RETENTION_MS: '2000',
    STDIO_IDLE_MS: '1000',
    GATEWAY_SESSION_IDLE_MS: '2000',
  });
  const client = new SoakClient(await service.line(/listens on (\S+)/), apiKey);
  const database = new Client({ connectionString: postgres.url });
  await database.connect();
  const connect = (title, { url }) =>
    client.tool('COLLECTION_CONNECTIONS_CREATE', { data: { title, connection_type: 'HTTP', connection_url: url } });
  const { item: direct } = await connect('Direct', upstream);
  const { item: inAgent } = await connect('Member', member);
  const { item: agent } = await client.tool('COLLECTION_VIRTUAL_MCP_CREATE', {
    data: { title: 'Agent', connections: [{ connection_id: inAgent.id, selected_tools: null }] },
  });
  const { item: thread } = await client.tool('COLLECTION_THREADS_CREATE', {
    data: { title: 'Soak', virtual_mcp_id: agent.id },
  });

  /** What can be counted from outside, without disturbing the service. */
  const outside = async () => ({
    rssMiB: await residentMiB(service.pid),
    fds: (await readdir(`/proc/${service.pid}/fd`)).length,
    children: await countChildren(service.pid),
    gatewaySessions: member.sessions.size,
    directSessions: upstream.sessions.size,
    waitingCalls: upstream.waiting(),
  });
  const measure = async () => {
    const { heapBytes, resources, listeners } = await holdingsOf(service.pid);
    const { rows } = await database.query(
      'SELECT (SELECT count(*) FROM run_event_streams)::integer + (SELECT count(*) FROM run_event_batches)::integer AS rows',
    );
    return { heapMiB: Math.round(heapBytes / MIB), resources, listeners, liveRows: rows[0].rows, ...(await outside()) };
  };
  return {
    client,
    connection: direct.id,
    agent: agent.id,
    thread: thread.id,
    upstream,
    program: { command: process.execPath, args: [path('../support/stdio-fixtures/mini-server.mjs')] },
    /**
     * Measures until nothing is above `reference` by more than allowed; the last measurement, after a minute at most.
     */
    async settled(reference, allowed) {
      const { liveRows, waitingCalls, children } = allowed;
      const wanted = reference ?? { liveRows, waitingCalls, children };
      for (const deadline = performance.now() + SETTLE_WITHIN_MS; ; await sleep(SAMPLE_MS)) {
        const measured = await measure();
        const isBack = Object.keys(wanted).every(
          (name) => !(measured[name] - wanted[name] > (allowed[name] ?? Infinity)),
        );
        const isQuiet = reference !== undefined || measured.gatewaySessions <= 1;
        if ((isBack && isQuiet) || performance.now() > deadline) return measured;
      }
    },
    /** Samples what can be counted from outside until `stop`, which returns the highest counts. */
    watchPeak() {
      const peak = {};
      const end = new AbortController();
      const sample = async () => {
        for await (const _ of setInterval(SAMPLE_MS, undefined, { signal: end.signal })) {
          for (const [name, value] of Object.entries(await outside())) peak[name] = Math.max(peak[name] ?? 0, value);
        }
      };
      // The service can end in between; the scenario then fails.
      const watching = sample().catch(() => undefined);
      return {
        async stop() {
          end.abort();
          await watching;
          return peak;
        },
      };
    },
    async stop() {
      client.close();
      await database.end();
      await service.stop();
      await Promise.all([upstream.close(), member.close()]);
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function holdingsOf(pid) {
  const file = holdingsFile(pid);
  await rm(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  for (const deadline = performance.now() + SETTLE_WITHIN_MS; performance.now() < deadline; await sleep(20)) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    await rm(file);
    return JSON.parse(text);
  }
  throw new Error('The service did not say what it holds.');
}

async function residentMiB(pid) {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}

async function countChildren(pid) {
  const tasks = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  );
  return lists.join(' ').split(' ').filter(Boolean).length;
}
