/**
 * `npm run bench:processes`: measures calls and runs with several service processes behind one port (`PROCESSES`).
 * Each number of processes has a service with an embedded database of its own; they take turns in each round. The CPU
 * time per call and run tells how many a machine with more cores can do at most, if callers and upstreams run
 * elsewhere.
 *
 * --processes <n,…>  the numbers of processes (1,2,4)
 * --rounds <n>       number of rounds (8)
 * --cores <n>        of the machine to calculate for (16)
 */
import { parseArgs } from 'node:util';
import { join } from 'node:path';
import { generateApiKey } from '../dist/core/api-key-value.js';
import { attachEmbeddedPostgres } from '../dist/platform/embedded-postgres/embedded-postgres.js';
import { postmasterOf } from './lib/databases.mjs';
import { openWorkplace } from './lib/folder.mjs';
import { measureLatency, measureThroughput, openCallers, postInTurns } from './lib/measure.mjs';
import { familyCpuSeconds, serviceCpuSeconds } from './lib/proxy-process.mjs';
import { measureInTurns } from './lib/proxy-rounds.mjs';
import { startOurs, startUpstream } from './lib/proxy-targets.mjs';
import { counted, layOut, machine, number, quantile } from './lib/report.mjs';
import { startService } from './lib/service.mjs';
import { turnsOf } from './lib/turns.mjs';

const CALLERS = 16;
const CALLS_MS = 1000;
/** Each process compiles its own code, so what one has done in this time, four have done after four times as long. */
const WARM_UP_MS = 5000;
const RUNS_MS = 2500;
const WARM_UP_RUNS = 50;

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '1,2,4' },
    rounds: { type: 'string', default: '8' },
    cores: { type: 'string', default: '16' },
  },
});
const numbers = values.processes.split(',').map(Number);
const [rounds, cores] = [Number(values.rounds), Number(values.cores)];

console.log(`${machine()}\n`);
console.log(`${report('calls', await inWorkplace(measureCalls))}\n`);
console.log(`${report('runs', await inWorkplace(measureRuns))}\n`);
console.log(
  `${CALLERS} callers, medians of ${rounds} rounds in which the services take turns; callers, upstream and databases ` +
    'share the cores named above.',
);
console.log(
  `Calculated: ${cores} cores divided by the CPU time of service and database, if nothing else is the limit. A lock, ` +
    'a disk or a network can be it before.',
);

async function inWorkplace(work) {
  const workplace = await openWorkplace();
  try {
    return await work(workplace);
  } finally {
    await workplace.stop();
    await workplace.remove();
  }
}

/** Calls of a tool of an upstream that answers with JSON. */
async function measureCalls({ keep, subfolder }) {
  const upstream = await keep(startUpstream('minimal'));
  const targets = {};
  for (const count of numbers) {
    const folder = await subfolder(`calls-${count}`);
    const ours = await keep(startOurs({ minimal: upstream }, folder, { env: { PROCESSES: String(count) } }));
    targets[count] = ours.targets.minimal;
  }
  const { figures } = await measureInTurns(
    { minimal: targets },
    { callers: [CALLERS], rounds, ms: CALLS_MS, warmUpMs: WARM_UP_MS * Math.max(...numbers) },
  );
  return numbers.map((count) => {
    const all = figures.minimal[count][CALLERS];
    const sum = (key) => all.reduce((total, round) => total + round[key], 0);
    return {
      perSecond: all.map(({ rps }) => rps),
      times: all.map(({ p50 }) => p50),
      serviceMs: sum('cpu') / sum('calls') / 1000,
      databaseMs: sum('databaseCpu') / sum('calls') / 1000,
    };
  });
}

/** Runs of 20 chunks. */
async function measureRuns({ keep, subfolder }) {
  const targets = [];
  for (const count of numbers) {
    const dataDir = join(await subfolder(`runs-${count}`), 'data');
    const env = { PROCESSES: String(count) };
    const service = await keep(startService({ dataDir, apiKey: generateApiKey(), env }));
    const databasePid = await postmasterOf((await attachEmbeddedPostgres(dataDir)).url);
    await measureLatency(service, WARM_UP_RUNS);
    await measureThroughput(service, CALLERS, WARM_UP_MS * count);
    targets.push({ service, databasePid, perSecond: [], times: [], runs: 0, serviceMs: 0, databaseMs: 0 });
  }
  for (let round = 0; round < rounds; round++) {
    for (const target of turnsOf(round, targets)) await measureRound(target);
  }
  return targets.map(({ runs, serviceMs, databaseMs, ...figures }) => ({
    ...figures,
    serviceMs: serviceMs / runs,
    databaseMs: databaseMs / runs,
  }));
}

async function measureRound(target) {
  const { service, databasePid } = target;
  const read = () => [serviceCpuSeconds(service.pid, databasePid), familyCpuSeconds(databasePid)];
  target.times.push(...(await measureLatency(service, 10)).firstChunk);
  const callers = await openCallers(service, CALLERS);
  const [ours, database] = read();
  const started = performance.now();
  const runs = await postInTurns(service, callers, () => performance.now() - started >= RUNS_MS);
  target.perSecond.push((runs * 1000) / (performance.now() - started));
  const [oursAfter, databaseAfter] = read();
  callers.forEach(({ reader }) => reader.close());
  target.runs += runs;
  target.serviceMs += (oursAfter - ours) * 1000;
  target.databaseMs += (databaseAfter - database) * 1000;
}

function report(what, figures) {
  const row = (title, cellOf) => [title, ...figures.map((of) => cellOf(of))];
  const one = what === 'calls' ? 'call' : 'first chunk';
  const calculated = ({ serviceMs, databaseMs }) => (cores * 1000) / (serviceMs + databaseMs);
  return layOut([
    [what, ...numbers.map((count) => counted(count, 'process', 'processes'))],
    row('per second', ({ perSecond }) => number(quantile(perSecond, 0.5))),
    row(`${one} p50, ms`, ({ times }) => quantile(times, 0.5).toFixed(2)),
    row('CPU of the service, ms', ({ serviceMs }) => serviceMs.toFixed(3)),
    row('CPU of PostgreSQL, ms', ({ databaseMs }) => databaseMs.toFixed(3)),
    row(`calculated for ${cores} cores, per second`, (of) => number(calculated(of))),
  ]);
}
