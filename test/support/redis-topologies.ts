import { expect } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { freePort } from './free-port.js';
import { RedisProcess } from './redis-process.js';
import { eventually } from './eventually.js';

/** Several Redis processes that take over from one another. */
export interface RedisTopology {
  /** For `REDIS_URL`. */
  readonly url: string;
  /** The master that holds the queue. */
  findMaster(): Promise<RedisProcess>;
  /** Resolves when another process has taken the place of `master`. */
  takenOver(master: RedisProcess): Promise<void>;
  /** Resolves when every master has a replica that is in step, so that it can be taken over again. */
  untilWhole(): Promise<void>;
  /** The processes that store data. */
  readonly nodes: readonly RedisProcess[];
  stop(): Promise<void>;
}

const MASTER = 'signalbox';
/** How long a process may be silent before the others replace it. */
const SILENT_MS = 2_000;
/** A Sentinel that stood still, as its machine can, replaces nobody for 30 s (Redis documentation, “TILT mode”). */
const TAKE_OVER_MS = 60_000;
const SLOTS = 16_384;
const QUEUE_SLOT_KEY = '{sbx-queue}:health';

/** A master, a replica, and three Sentinels that replace the master. */
export async function startSentinels(command: string): Promise<RedisTopology> {
  const master = await RedisProcess.start(command);
  const replica = await RedisProcess.start(command, ['--replicaof', `127.0.0.1 ${master.port}`]);
  await eventually(() =>
    replica.ask(async (redis) => (await redis.info('replication')).includes('master_link_status:up')),
  );
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-sentinels-'));
  const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(command, folder, master.port)));
  // A Sentinel takes part in a failover once it knows the replica and the other Sentinels.
  await Promise.all(sentinels.map((sentinel) => eventually(() => sentinel.ask(isInformed))));
  const nodes = [master, replica];
  const masterPort = () =>
    (sentinels[0] as RedisProcess).ask(async (redis) => {
      const [, port] = (await redis.call('SENTINEL', 'get-master-addr-by-name', MASTER)) as [string, string];
      return Number(port);
    });
  return {
    url: `redis+sentinel://${addresses(sentinels)}/${MASTER}`,
    nodes,
    async findMaster() {
      const port = await masterPort();
      return nodes.find((node) => node.port === port) as RedisProcess;
    },
    takenOver: (master) => eventually(async () => expect(await masterPort()).not.toBe(master.port), TAKE_OVER_MS),
    untilWhole: () =>
      eventually(async () => {
        const texts = await Promise.all(nodes.map((node) => node.ask((redis) => redis.info('replication'))));
        expect(texts.filter((text) => text.includes('master_link_status:up'))).toHaveLength(nodes.length - 1);
      }),
    async stop() {
      await Promise.all([...sentinels, ...nodes].map((one) => one.stop()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A Sentinel writes what it learns into the file of its settings. */
async function startSentinel(command: string, folder: string, masterPort: number): Promise<RedisProcess> {
  const port = await freePort();
  const file = join(folder, `${port}.conf`);
  const settings = [
    `monitor ${MASTER} 127.0.0.1 ${masterPort} 2`,
    `down-after-milliseconds ${MASTER} ${SILENT_MS}`,
    `failover-timeout ${MASTER} 10000`,
  ];
  await writeFile(file, settings.map((setting) => `sentinel ${setting}\n`).join(''));
  return RedisProcess.start(command, [], { port, mode: [file, '--sentinel'] });
}

async function isInformed(redis: Redis): Promise<boolean> {
  const text = await redis.info('sentinel');
  return text.includes('slaves=1') && text.includes('sentinels=3');
}

/** Three masters, each with a replica that replaces it. */
export async function startCluster(command: string): Promise<RedisTopology> {
  const nodes = await Promise.all(Array.from({ length: 6 }, () => startClusterNode(command)));
  const masters = nodes.slice(0, 3);
  const first = nodes[0] as RedisProcess;
  for (const [i, node] of masters.entries()) {
    const from = Math.floor((SLOTS * i) / 3);
    await node.ask((redis) => redis.cluster('ADDSLOTSRANGE', from, Math.floor((SLOTS * (i + 1)) / 3) - 1));
  }
  await first.ask(async (redis) => {
    for (const { port, busPort } of nodes.slice(1)) await redis.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
  });
  await Promise.all(
    nodes.map((node) => eventually(() => node.ask(async (redis) => (await known(redis)).length === 6))),
  );
  const ids = await Promise.all(masters.map((node) => node.ask((redis) => redis.cluster('MYID'))));
  for (const [i, node] of nodes.slice(3).entries()) await node.ask((redis) => redis.cluster('REPLICATE', ids[i] ?? ''));
  await Promise.all(nodes.map((node) => eventually(() => node.ask(isWhole))));
  return {
    url: `redis+cluster://${addresses(masters)}`,
    nodes,
    async findMaster() {
      const port = await queueMaster(first);
      return nodes.find((node) => node.port === port) as RedisProcess;
    },
    async takenOver(master) {
      const witness = nodes.find((node) => node !== master) as RedisProcess;
      await eventually(async () => (await queueMaster(witness)) !== master.port && (await witness.ask(isOk)));
    },
    untilWhole: async () => void (await Promise.all(nodes.map((node) => eventually(() => node.ask(isWhole))))),
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
  };
}

async function startClusterNode(command: string): Promise<RedisProcess & { busPort: number }> {
  const busPort = await freePort();
  const settings = ['--cluster-enabled', 'yes', '--cluster-port', busPort, '--cluster-node-timeout', SILENT_MS];
  return Object.assign(await RedisProcess.start(command, settings.map(String)), { busPort });
}

async function known(redis: Redis): Promise<string[]> {
  return String(await redis.cluster('NODES'))
    .trim()
    .split('\n');
}

async function isOk(redis: Redis): Promise<boolean> {
  return String(await redis.cluster('INFO')).includes('cluster_state:ok');
}

/** True if the node knows all slots, and a replica of each master that is in step with it. */
async function isWhole(redis: Redis): Promise<boolean> {
  const replicas = (await known(redis)).filter((line) => line.includes('slave'));
  const isInStep = !(await redis.info('replication')).includes('master_link_status:down');
  return (await isOk(redis)) && replicas.length === 3 && isInStep;
}

/** The port of the master that holds the queue, as the node sees it. */
function queueMaster(node: RedisProcess): Promise<number> {
  return node.ask(async (redis) => {
    const slot = Number(await redis.cluster('KEYSLOT', QUEUE_SLOT_KEY));
    const range = (await redis.cluster('SLOTS')).find(([from, to]) => from <= slot && slot <= to);
    return Number(range?.[2]?.[1]);
  });
}

function addresses(nodes: readonly RedisProcess[]): string {
  return nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
}
