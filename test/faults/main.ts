/**
 * `npm run test:faults`: runs conversations against two `api` and two `worker` processes while processes are killed at
 * random and each store is restarted once, and compares what clients saw with what is stored.
 *
 * --seed <n>       what the trial's choices are made of (random, and printed)
 * --runs <n>       runs per backend (300)
 * --threads <n>    the threads that share them (60)
 * --backend <b>    postgres, redis, redis-losing-all, or both (postgres and redis)
 * --trace          print each kill and restart
 */
import { parseArgs } from 'node:util';
import { formatReport } from './report.js';
import { type Backend, runTrial } from './trial.js';

const BACKENDS: Record<string, Backend[]> = {
  postgres: ['postgres'],
  redis: ['redis'],
  'redis-losing-all': ['redis-losing-all'],
  both: ['postgres', 'redis'],
};

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    runs: { type: 'string', default: '300' },
    threads: { type: 'string', default: '60' },
    backend: { type: 'string', default: 'both' },
    trace: { type: 'boolean', default: false },
  },
});
const { seed } = values;
const [runs, threads] = [Number(values.runs), Number(values.threads)];
const backends = BACKENDS[values.backend];
if (backends === undefined || !(runs > 0) || !(threads > 0)) {
  process.stderr.write(`Use --backend ${Object.keys(BACKENDS).join('|')} and positive numbers.\n`);
  process.exit(2);
}

const begun = performance.now();
const log = (line: string): void => {
  if (values.trace) console.log(`  ${((performance.now() - begun) / 1000).toFixed(1)} s: ${line}`);
};
for (const backend of backends) {
  const report = await runTrial({ seed, backend, runs, threads, log });
  console.log(formatReport(report));
  if (report.faults.length > 0) process.exitCode = 1;
}
