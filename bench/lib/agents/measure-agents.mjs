import { mkdir, rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../../dist/platform/embedded-postgres/embedded-postgres.js';
import { Child } from '../child.mjs';
import { createDatabase, postmasterOf } from '../databases.mjs';
import { makeFolder } from '../folder.mjs';
import { startRedis } from '../redis.mjs';
import { machine, quantile } from '../report.mjs';
import { turnsOf } from '../turns.mjs';
import { killWith } from './kill.mjs';
import { installLeg, LEGS } from './legs.mjs';
import { latencyOf, throughputOf } from './load.mjs';

const MODEL = fileURLToPath(new URL('scripted-model.mjs', import.meta.url));
const CALLERS = 16;
const WARM_UP_RUNS = 20;
const KILLED_RUNS = 100;
const LONG = { rounds: 4, latencyRuns: 40, throughputMs: 3000 };
const SHORT = { rounds: 2, latencyRuns: 15, throughputMs: 1500 };
/** A leg that does not answer must not hold up the others: an installation with a build, a round, a kill. */
const ATTEMPT_WITHIN_MS = 240_000;

/**
 * Measures agent servers, which take turns in rounds, each on a PostgreSQL of its own with durable commits, and all
 * with one scripted model. A leg that fails says why, and the others continue.
 * @param {string[]} names of `LEGS`
 * @returns {Promise<import('./figures.mjs').AgentFigures>}
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
      await within(ATTEMPT_WITHIN_MS, work());
    } catch (error) {
      failed[name] = error.message.split('\n')[0];
      console.log(`${name} failed: ${error.message}`);
      await legs.find((leg) => leg.name === name)?.target.stop();
    }
  };
  try {
    const model = new Child(process.execPath, [MODEL]);
    stops.push(() => model.stop());
    const modelUrl = await model.line(/^model on (\S+)/);
    for (const name of names) {
      console.log(`Opens ${LEGS[name].title} ...`);
      await attempt(name, async () => {
        await installLeg(name);
        legs.push(await openLeg(name, { modelUrl, folder: join(folder, name) }, stops));
      });
    }
    const load = [loadavg()[0]];
    for (const leg of legs) await attempt(leg.name, () => latencyOf(leg.target, WARM_UP_RUNS));
    for (let round = 0; round < extent.rounds; round++) {
      for (const leg of turnsOf(round, legs)) await attempt(leg.name, () => measureRound(leg, extent));
    }
    const kill = (leg) =>
      attempt(leg.name, async () => {
        leg.kill = await killWith(leg, KILLED_RUNS);
      });
    const recovers = ({ name }) => LEGS[name].recovers === true;
    for (const leg of legs.filter(recovers)) await kill(leg);
    // Those that lose the runs do nothing in the minute after.
    await Promise.all(legs.filter((leg) => !recovers(leg)).map(kill));
    load.push(loadavg()[0]);
    const measured = new Date().toISOString().slice(0, 10);
    return { measured, machine: machine(), load, ...extent, legs: names.map((name) => figuresOf(name, legs, failed)) };
  } finally {
    for (const { target } of legs) await target.stop();
    for (const stop of stops.toReversed()) await stop();
  }
}

/** @returns {import('./figures.mjs').AgentLeg} */
function figuresOf(name, legs, failed) {
  const { title, leaves } = LEGS[name];
  const { first, whole, perSecond = [], cpu, count, kill } = legs.find((leg) => leg.name === name) ?? {};
  const times = perSecond.length > 0 && {
    first50: quantile(first, 0.5),
    first99: quantile(first, 0.99),
    whole50: quantile(whole, 0.5),
    runsPerSecond: quantile(perSecond, 0.5),
    cpu: (cpu / count) * 1000,
  };
  return { name, title, leaves, failed: failed[name], ...(times && { times }), kill };
}

async function within(ms, work) {
  const { promise, reject } = Promise.withResolvers();
  const timer = setTimeout(() => reject(new Error(`It took more than ${ms / 1000} s.`)), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
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

async function measureRound(leg, { latencyRuns, throughputMs }) {
  const { first, whole } = await latencyOf(leg.target, latencyRuns);
  leg.first.push(...first);
  leg.whole.push(...whole);
  const { count, seconds, cpuSeconds } = await throughputOf(leg, CALLERS, throughputMs);
  leg.count += count;
  leg.perSecond.push(count / seconds);
  leg.cpu += cpuSeconds;
}
