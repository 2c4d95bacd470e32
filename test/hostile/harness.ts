import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { Client } from 'pg';
import supertest from 'supertest';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { createTestDatabase } from '../support/database.js';
import { redisServerCommand, startRedisServer } from '../support/redis-server.js';
import { ServiceProcess } from '../support/service-process.js';
import { addOrganization } from '../support/tenant.js';
import { startTcpProxy, type TcpProxy, through } from '../support/tcp-proxy.js';
import { eventually } from '../support/eventually.js';

const NEIGHBOUR = 'neighbour';
const QUIET_MS = 3_000;
/** How long the service has to give memory back. */
const RECOVERY_MS = 30_000;
/** What a service needs in its `NODE_OPTIONS` for `probeHeap`. */
export const HEAP_PROBE_OPTION = `--import=${new URL('./heap-probe.mjs', import.meta.url).href}`;
const HEAP_LINE = /heap-probe (\{.*\})/g;

/** What an attack is allowed to do to others. */
export interface Bounds {
  /** The longest wait of the neighbour during the attack, as a multiple of its longest wait before. */
  factor?: number;
  /** How long a store is away during the attack: the neighbour may wait for it, or be told that it is away. */
  outageMs?: number;
  /** Memory that the service may hold after the attack beyond what it held before, after a collection. */
  memoryMb?: number;
}

/**
 * The built service as a process of its own, with a database of its own. The attacker has the organization `default`; a
 * neighbour in the organization `neighbour` makes one MCP call and one run every 100 ms from a process of its own.
 */
export interface HostileTarget {
  url: string;
  /** A key of the organization `default` that may do everything in it. */
  apiKey: string;
  databaseUrl: string;
  /** What stands between the service and its stores, where that was asked for. */
  stores: { database?: TcpProxy | undefined; redis?: TcpProxy | undefined };
  /** The service, to look at its output or to end it. */
  service: ServiceProcess;
  /** Calls a management tool of the organization `default`. */
  tool(name: string, body?: object, key?: string): supertest.Test;
  /** What the service holds after a collection of garbage, in bytes. */
  usedBytes(): Promise<number>;
  /** Lets the neighbour work while `action` does, and tells how that went. */
  during(action: () => Promise<unknown>): Promise<Measures>;
  /**
   * Measures the neighbour without the attack, then during it, and expects that the process lives, that no call or run
   * of the neighbour failed, that its longest wait stays within the bounds, and that the service gives the memory back.
   */
  withstands(attack: () => Promise<unknown>, bounds?: Bounds): Promise<void>;
  close(): Promise<void>;
}

/** What happened to the calls or to the runs of the neighbour. */
interface Measure {
  count: number;
  medianMs: number;
  longestMs: number;
  /** Answered that a store is away. */
  refused: number;
  failures: string[];
}

interface Measures {
  calls: Measure;
  runs: Measure;
}

interface HostileTargetOptions {
  /** Environment variables of the service. */
  env?: Record<string, string>;
  /** Whether queue and streams run on a Redis of the target's own. */
  redis?: boolean;
  /** Whether the stores can be taken away. The relays for that are in the process of the test. */
  storesCanLeave?: boolean;
}

/**
 * Starts the service, the neighbour and what they need. Needs a current build in `dist`; run these specs with
 * `npm run test:hostile -- <path>`, one at a time, since whatever else runs on the machine disturbs the neighbour too.
 */
export async function startHostileTarget({
  env = {},
  redis = false,
  storesCanLeave = false,
}: HostileTargetOptions = {}): Promise<HostileTarget> {
  const database = await createTestDatabase();
  const redisServer = redis ? await startRedisServer(redisServerCommand() ?? 'redis-server') : undefined;
  const stores = {
    database: storesCanLeave ? await startTcpProxy(database.url) : undefined,
    redis: storesCanLeave && redisServer ? await startTcpProxy(redisServer.url) : undefined,
  };
  const serviceEnv = {
    DATABASE_URL: stores.database ? through(stores.database, database.url) : database.url,
    ENCRYPTION_KEYS: generateEncryptionKey('hostile'),
    UPSTREAM_ALLOW_PRIVATE: 'true',
    LOG_LEVEL: 'error',
    ...(redisServer && { REDIS_URL: stores.redis ? through(stores.redis, redisServer.url) : redisServer.url }),
    ...env,
  };
  const apiKey = generateApiKey();
  const service = new ServiceProcess({
    ...serviceEnv,
    BOOTSTRAP_API_KEY: apiKey,
    NODE_OPTIONS: `${env['NODE_OPTIONS'] ?? ''} ${HEAP_PROBE_OPTION}`,
  });
  const { url } = await service.listening();
  const neighbour = await startNeighbour(url, await addNeighbour(database.url));
  const usedBytes = (): Promise<number> => probeHeap(service);

  return {
    url,
    apiKey,
    databaseUrl: database.url,
    stores,
    service,
    usedBytes,
    during: (action) => neighbour.during(action),
    tool: (name, body = {}, key = apiKey) =>
      supertest(url).post(`/api/default/tools/${name}`).set('authorization', `Bearer ${key}`).send(body),
    withstands: async (attack, { factor = 40, outageMs, memoryMb = 64 } = {}) => {
      const quiet = await neighbour.during(() => sleep(QUIET_MS));
      const heldBefore = await usedBytes();
      const attacked = await neighbour.during(attack);
      expect(service.hasEnded).toBe(false);
      // The longest wait of either kind: that of one kind alone can be short by chance.
      const quietMs = Math.max(quiet.calls.longestMs, quiet.runs.longestMs);
      for (const kind of ['calls', 'runs'] as const) {
        const { failures, refused } = attacked[kind];
        expect({ kind, failures }).toEqual({ kind, failures: [] });
        if (outageMs === undefined) expect({ kind, refused }).toEqual({ kind, refused: 0 });
        const wait = { kind, of: attacked[kind].count, quietMs, ms: attacked[kind].longestMs };
        expect({ ...wait, isBounded: wait.ms <= factor * wait.quietMs + (outageMs ?? 0) }).toEqual({
          ...wait,
          isBounded: true,
        });
      }
      const allowed = heldBefore + memoryMb * 2 ** 20;
      let held = 0;
      const isReleased = async () => expect((held = await usedBytes())).toBeLessThanOrEqual(allowed);
      await eventually(isReleased, RECOVERY_MS).finally(() =>
        process.stdout.write(`${summary(quiet, attacked)}; held ${megabytes(heldBefore)} → ${megabytes(held)} MiB\n`),
      );
    },
    close: async () => {
      neighbour.close();
      if (!service.hasEnded) await service.kill('SIGTERM');
      await Promise.all([stores.database?.close(), stores.redis?.close()]);
      await redisServer?.stop();
      await database.drop();
    },
  };
}

/** The neighbour's longest waits without and with the attack. */
function summary(quiet: Measures, attacked: Measures): string {
  const parts = (['calls', 'runs'] as const).map(
    (kind) => `${kind} ${quiet[kind].longestMs.toFixed(0)} → ${attacked[kind].longestMs.toFixed(0)} ms`,
  );
  return `  neighbour's longest wait: ${parts.join(', ')}`;
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}

/** Makes the organization of the neighbour; returns its key. */
async function addNeighbour(databaseUrl: string): Promise<string> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const query = async <Row>(statement: string, parameters?: unknown[]): Promise<Row[]> =>
    (await client.query(statement, parameters)).rows as Row[];
  try {
    return (await addOrganization({ query }, NEIGHBOUR)).key;
  } finally {
    await client.end();
  }
}

/** What the service holds after a collection of garbage, in bytes. */
export async function probeHeap(service: ServiceProcess): Promise<number> {
  const before = [...service.output.matchAll(HEAP_LINE)].length;
  service.signal('SIGUSR2');
  const line = await eventually(() => [...service.output.matchAll(HEAP_LINE)][before]?.[1] ?? false, RECOVERY_MS);
  return (JSON.parse(line) as { usedBytes: number }).usedBytes;
}

interface Neighbour {
  /** Works while `action` does, and tells how that went. */
  during(action: () => Promise<unknown>): Promise<Measures>;
  close(): void;
}

async function startNeighbour(url: string, key: string): Promise<Neighbour> {
  const child = fork(new URL('./neighbour-process.mjs', import.meta.url), { execArgv: [] });
  await ask(child, { type: 'connect', url, org: NEIGHBOUR, key });
  return {
    during: async (action) => {
      await ask(child, { type: 'start' });
      try {
        await action();
      } catch (error) {
        await ask(child, { type: 'stop' });
        throw error;
      }
      return (await ask(child, { type: 'stop' })) as Measures;
    },
    close: () => child.kill('SIGKILL'),
  };
}

/** Sends a message to a process, and returns what it answers. */
export async function ask(child: ChildProcess, message: object): Promise<unknown> {
  const answered = once(child, 'message');
  child.send(message);
  const [answer] = (await answered) as [{ value?: unknown; error?: string }];
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer.value;
}
