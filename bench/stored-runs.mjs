/**
 * `npm run bench:stored-runs`: measures whether a run costs more when more runs are stored. It starts one service for
 * each size on PostgreSQL, stores copies of a real run and of its messages, and measures all of them in the same
 * rounds.
 *
 * --sizes <n,…>  the numbers of stored runs (1000,100000,1000000)
 * --rounds <n>   number of rounds (8)
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { generateApiKey } from '../dist/core/api-key-value.js';
import { onDatabase, withPostgres } from './lib/databases.mjs';
import { measureLatency, measureThroughput } from './lib/measure.mjs';
import { layOut, machine, number, quantile, ratio } from './lib/report.mjs';
import { startService } from './lib/service.mjs';
import { storeRuns } from './lib/store-organization.mjs';
import { turnsOf } from './lib/turns.mjs';

const WARM_UP_RUNS = 50;
const LATENCY_RUNS = 25;
const CALLERS = 16;
const THROUGHPUT_MS = 2000;

const { values } = parseArgs({
  options: { sizes: { type: 'string', default: '1000,100000,1000000' }, rounds: { type: 'string', default: '8' } },
});
const sizes = values.sizes.split(',').map(Number);
const rounds = Number(values.rounds);

console.log(`${machine()}\n`);
await withPostgres(async (scope) => {
  const targets = [];
  for (const size of sizes) targets.push({ size, service: await openSize(scope, size), firstChunk: [], perSecond: [] });
  for (let round = 0; round < rounds; round++) {
    for (const target of turnsOf(round, targets)) {
      target.firstChunk.push(...(await measureLatency(target.service, LATENCY_RUNS)).firstChunk);
      target.perSecond.push(await measureThroughput(target.service, CALLERS, THROUGHPUT_MS));
    }
  }
  console.log(report(targets));
});

/** Starts a service on a database of its own, and stores the runs. */
async function openSize({ folder, createDatabase, defer }, size) {
  const name = `size_${size}`;
  const databaseUrl = await createDatabase(name);
  const service = await startService({ dataDir: join(folder, name), apiKey: generateApiKey(), databaseUrl });
  defer(() => service.stop());
  await measureLatency(service, WARM_UP_RUNS);
  await onDatabase(databaseUrl, (client) => storeRuns(client, size));
  return service;
}

function report(targets) {
  const base = targets[0];
  const row = (title, figure) => {
    const least = quantile(base[figure], 0.5);
    return [title, ...targets.flatMap((target) => cells(quantile(target[figure], 0.5), least))];
  };
  const cells = (value, least) => [number(value), ratio(value, least)];
  return [
    layOut([
      ['stored runs', ...targets.flatMap(({ size }) => [size.toLocaleString('en'), `: ${base.size}`])],
      row('first chunk p50, ms', 'firstChunk'),
      row('runs per second', 'perSecond'),
    ]),
    '',
    `First chunk: one caller, ${rounds * LATENCY_RUNS} runs per size, each on a new thread. Runs per second: ` +
      `${CALLERS} callers, median of ${rounds} rounds.`,
    'One process and one database for each size, on one server; every second column is the ratio to the first size.',
  ].join('\n');
}
