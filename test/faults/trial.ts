import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { type Backstage, GATED_TOOL, startBackstage } from './backstage.js';
import { Caller } from './caller.js';
import { converse } from './conversation.js';
import { disturb } from './disturbance.js';
import { Processes } from './processes.js';
import { Random } from './random.js';
import { type Store, startPersistentRedis, startPostgres } from './stores.js';
import type { Verdict } from './tally.js';
import { judge } from './verdict.js';

/** Where queue and streams are: PostgreSQL alone, a Redis that keeps its data at its restart, or one that loses all. */
export type Backend = 'postgres' | 'redis' | 'redis-losing-all';

interface TrialOptions {
  readonly seed: string;
  readonly backend: Backend;
  readonly runs: number;
  readonly threads: number;
  /** Receives one line for each fault that the trial makes. */
  readonly log?: (line: string) => void;
}

export interface TrialReport extends Verdict {
  readonly options: TrialOptions;
  readonly seconds: number;
  readonly kills: Processes['kills'];
  readonly failedStarts: number;
  readonly endedBeforeMain: number;
  readonly slowestExitMs: number;
  readonly restartedStores: readonly string[];
  /** The folder with the output of all processes; undefined for a trial without faults. */
  readonly logs: string | undefined;
}

const ORGANIZATION = 'trial';

/**
 * Runs the service under faults from the beginning of the first conversation to the end of the last one, and judges it.
 */
export async function runTrial(options: TrialOptions): Promise<TrialReport> {
  const { seed, backend, log = () => undefined } = options;
  // PostgreSQL's user must be able to enter the folder.
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-faults-'));
  const stops: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres(join(folder, 'data'));
    stops.push(() => postgres.stop());
    const redis =
      backend === 'postgres'
        ? undefined
        : await startPersistentRedis(join(folder, 'redis'), { keepsData: backend === 'redis' });
    if (redis) stops.push(() => redis.stop());
    const backstage = await startBackstage();
    stops.push(() => backstage.close());
    const apiKey = generateApiKey();
    const processes = await Processes.start(environment(postgres, redis, apiKey));
    stops.push(() => processes.stop());

    const target = { urls: processes.apiUrls, org: ORGANIZATION, apiKey };
    const caller = new Caller(target, new Random(`${seed} caller`));
    const agentId = await prepare(caller, backstage);
    const begun = performance.now();
    const { conversations, restartedStores } = await runUnderFaults(options, {
      target,
      agentId,
      postgres,
      redis,
      processes,
      log,
    });
    const seconds = (performance.now() - begun) / 1000;
    const mayExpire = backend === 'redis-losing-all';
    const verdict = await judge(caller, conversations, backstage, { mayExpire });
    await processes.stop();
    verdict.faults.push(...processes.faults);
    const { kills, failedStarts, endedBeforeMain, slowestExitMs } = processes;
    const logs = verdict.faults.length === 0 ? undefined : await keepLogs(processes, options);
    return { ...verdict, options, seconds, kills, failedStarts, endedBeforeMain, slowestExitMs, restartedStores, logs };
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

function environment(postgres: Store, redis: Store | undefined, apiKey: string): Record<string, string> {
  return {
    DATABASE_URL: postgres.url,
    ...(redis && { REDIS_URL: redis.url }),
    ENCRYPTION_KEYS: generateEncryptionKey('trial'),
    BOOTSTRAP_ORG: ORGANIZATION,
    BOOTSTRAP_API_KEY: apiKey,
    UPSTREAM_ALLOW_PRIVATE: 'true',
    RUN_LOCK_MS: '4000',
    STREAM_KEEP_ALIVE_MS: '1000',
  };
}

/** Creates the model's provider, the connection, and the agent; returns the agent's id. */
async function prepare(caller: Caller, { modelUrl, upstreamUrl }: Backstage): Promise<string> {
  const create = async (tool: string, data: object): Promise<string> =>
    (await caller.tool<{ item: { id: string } }>(tool, { data })).item.id;
  const provider = await create('AI_PROVIDER_CREATE', {
    title: 'Model',
    kind: 'openai-compatible',
    base_url: modelUrl,
  });
  await caller.tool('MODEL_TIERS_SET', { data: { smart: { provider_id: provider, model: 'trial' } } });
  const connection = await create('COLLECTION_CONNECTIONS_CREATE', {
    title: 'Upstream',
    connection_type: 'HTTP',
    connection_url: upstreamUrl,
  });
  const connections = [{ connection_id: connection, selected_tools: null, approval: [GATED_TOOL] }];
  return create('COLLECTION_VIRTUAL_MCP_CREATE', { title: 'Agent', connections });
}

interface Stage {
  target: Caller['target'];
  agentId: string;
  postgres: Store;
  redis: Store | undefined;
  processes: Processes;
  log: (line: string) => void;
}

async function runUnderFaults({ seed, runs, threads }: TrialOptions, { target, agentId, ...stage }: Stage) {
  let runsOver = 0;
  const over = new AbortController();
  const { promise: storesRestarted, resolve: onStoresRestarted, reject } = Promise.withResolvers<void>();
  // Each thread keeps its last message until then, so that no machine is too fast for the restarts.
  const restartsWithin = (runs - threads) / 2;
  const disturbing = disturb(
    new Random(`${seed} faults`),
    { ...stage, over: () => runsOver, restartsWithin, onStoresRestarted },
    over.signal,
  );
  disturbing.catch(reject);
  try {
    const conversations = await Promise.all(
      Array.from({ length: threads }, (_, i) => {
        const caller = new Caller(target, new Random(`${seed} caller ${i}`));
        const share = Math.floor(runs / threads) + (i < runs % threads ? 1 : 0);
        return converse(caller, new Random(`${seed} thread ${i}`), {
          agentId,
          threadId: `thread-${i}`,
          runs: share,
          onOver: () => runsOver++,
          beforeLast: storesRestarted,
        });
      }),
    );
    over.abort();
    return { conversations, restartedStores: await disturbing };
  } finally {
    over.abort();
  }
}

async function keepLogs(processes: Processes, { seed, backend }: TrialOptions): Promise<string> {
  const folder = join(tmpdir(), `signalbox-faults-logs-${backend}-${seed}-${Date.now()}`);
  await mkdir(folder, { recursive: true });
  for (const [name, text] of processes.logs()) await writeFile(join(folder, `${name}.log`), text);
  return folder;
}
