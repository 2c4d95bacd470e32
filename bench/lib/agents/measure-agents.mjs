import { mkdir, rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../../dist/platform/embedded-postgres/embedded-postgres.js';
import { Child } from '../child.mjs';
import { createDatabase, onDatabase } from '../databases.mjs';
import { makeFolder } from '../folder.mjs';
import { startRedis } from '../redis.mjs';
import { layOut, number, quantile } from '../report.mjs';
import { killWith } from './kill.mjs';
import { installLeg, LEGS } from './legs.mjs';
import { latencyOf, throughputOf } from './load.mjs';

const MODEL = fileURLToPath(new URL('scripted-model.mjs', import.meta.url));
const CALLERS = 16;
const WARM_UP_RUNS = 20;
const KILLED_RUNS = 100;
const LONG = { rounds: 6, latencyRuns: 50, throughputMs: 3000 };
const SHORT = { rounds: 2, latencyRuns: 15, throughputMs: 1500 };

/**
 * Measures agent servers, which take turns in rounds, each on a PostgreSQL of its own with durable commits, and all
 * with one scripted model. Prints a table. A leg that fails says why in the table.
 * @param {string[]} names of `LEGS`
 */
export async function measureAgents(names, isShort) {
  const extent = isShort ? SHORT : LONG;
  const folder = await makeFolder();
  const stops = [() => rm(folder, { recursive: true, force: true })];
  const legs = [];
  const failed = {};
  const attempt = async (name, work) => {
    if (failed[name] !== undefined) return;
    try {
      await work();
    } catch (error) {
      failed[name] = error.message.split('\n')[0];
    }
  };
  try {
    const model = new Child(process.execPath, [MODEL]);
    stops.push(() => model.stop());
    const modelUrl = await model.line(/^model on (\S+)/);
    for (const name of names) {
      await attempt(name, async () => {
        await installLeg(name);
        legs.push(await openLeg(name, { modelUrl, folder: join(folder, name) }, stops));
      });
    }
    const before = loadavg()[0];
    for (const leg of legs) await attempt(leg.name, () => latencyOf(leg.target, WARM_UP_RUNS));
    for (let round = 0; round < extent.rounds; round++) {
      for (let turn = 0; turn < legs.length; turn++) {
        const leg = legs[(round + turn) % legs.length];
        await attempt(leg.name, () => measureRound(leg, extent));
      }
    }
    for (const leg of legs) {
      await attempt(leg.name, async () => {
        leg.kill = await killWith(leg, KILLED_RUNS);
      });
    }
    print(names, legs, failed, { ...extent, load: [before, loadavg()[0]] });
  } finally {
    for (const { target } of legs) await target.stop();
    for (const stop of stops.toReversed()) await stop();
  }
}

async function openLeg(name, { modelUrl, folder }, stops) {
  await mkdir(folder, { mode: 0o711 });
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'server') });
  stops.push(() => server.stop());
  const databasePids = [await postmasterOf(server.url)];
  const surroundings = { folder, modelUrl, databaseUrl: await createDatabase(server.url, 'agents') };
  if (LEGS[name].needsRedis) {
    const redis = await startRedis(folder);
    if (redis === undefined) throw new Error('No redis-server or valkey-server is on the PATH.');
    stops.push(() => redis.stop());
    databasePids.push(redis.pid);
    surroundings.redisUrl = redis.url;
  }
  const start = await LEGS[name].open(surroundings);
  return { name, start, databasePids, target: await start(), first: [], whole: [], count: 0, perSecond: [], cpu: 0 };
}

async function postmasterOf(url) {
  const { rows } = await onDatabase(url, (client) =>
    client.query(`SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int AS pid`),
  );
  return rows[0].pid;
}

async function measureRound(leg, { latencyRuns, throughputMs }) {
  const { first, whole } = await latencyOf(leg.target, latencyRuns);
  leg.first.push(...first);
  leg.whole.push(...whole);
  const { count, seconds, cpuSeconds } = await throughputOf(leg, CALLERS, throughputMs);
  leg.count += count;
  leg.perSecond.push(count / seconds);
  leg.cpu += cpuSeconds;
}

function print(names, legs, failed, { rounds, latencyRuns, load }) {
  const heads = [
    'first p50, ms',
    'p99',
    'whole p50',
    'runs/s',
    'CPU, ms',
    'not accepted',
    'completed',
    'lost',
    'doubled',
    'whole',
    'last',
  ];
  const rows = names.map((name) => [LEGS[name].title, ...cellsOf(legs.find((leg) => leg.name === name))]);
  console.log(layOut([['agent server', ...heads], ...rows]));
  for (const [name, reason] of Object.entries(failed)) console.log(`${LEGS[name].title}: ${reason}`);
  for (const name of names) if (LEGS[name].leaves) console.log(`${LEGS[name].title} leaves out: ${LEGS[name].leaves}.`);
  console.log(
    `${rounds} rounds in turns: ${latencyRuns} runs of one caller, each of 20 chunks, and ${CALLERS} callers; runs/s is ` +
      'the median of the rounds.\nCPU is of the server with its databases, per run at 16 callers. kill -9 within ' +
      `${KILLED_RUNS} runs:\nposts that were not accepted by then; of the others, in the 60 s after the restart: ` +
      'completed, lost,\ndoubled answers, streams whole (each word once), seconds to the last (- if one is lost).\n' +
      `Load of the machine (1 minute) before and after: ${load.map((value) => value.toFixed(1)).join(', ')}.\n`,
  );
}

function cellsOf(leg) {
  const { first = [], whole, count, perSecond = [], cpu, kill } = leg ?? {};
  const measured =
    perSecond.length === 0
      ? ['-', '-', '-', '-', '-']
      : [
          quantile(first, 0.5),
          quantile(first, 0.99),
          quantile(whole, 0.5),
          quantile(perSecond, 0.5),
          (cpu / count) * 1000,
        ].map(number);
  if (kill === undefined) return [...measured, '-', '-', '-', '-', '-', '-'];
  const { unaccepted, completed, lost, doubled, whole: streams, lastAfterS } = kill;
  return [...measured, ...[unaccepted, completed, lost, doubled, streams].map(String), number(lastAfterS)];
}
