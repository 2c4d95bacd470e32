import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpuSeconds, familyCpuSeconds } from './proxy-process.mjs';

const LOAD = new URL('proxy-load.mjs', import.meta.url);
/** Long enough for V8 to optimize the code as in a service that has run for a while. */
const WARM_UP_MS = 8000;

/**
 * Measures every target with every number of callers. The targets alternate within a round, in another order each round, so
 * that other load on the machine affects all of them.
 * @param {Record<string, import('./proxy-targets.mjs').Target>} targets
 * @param {{ callers: number[], rounds: number, ms: number }} options
 * @returns `since`: the end of the warm-up, in microseconds of the monotonic clock; `calls[target]`: the number of calls,
 * including the warm-up; `figures[target][callers]`: one `{ rps, p50, p99, cpuPerCall, databaseCpuPerCall, busy }` per round
 * (ms; CPU in microseconds, NaN if unknown)
 */
export async function measureInTurns(targets, { callers, rounds, ms }) {
  const names = Object.keys(targets);
  const figures = Object.fromEntries(names.map((name) => [name, Object.fromEntries(callers.map((n) => [n, []]))]));
  const calls = Object.fromEntries(names.map((name) => [name, 0]));
  const load = startLoad();
  const measure = async (name, count, forMs) => {
    const round = await run(load, targets[name], count, forMs);
    calls[name] += round.calls;
    return round;
  };
  try {
    for (const name of names) {
      for (const count of callers) await measure(name, count, WARM_UP_MS);
    }
    const since = Number(process.hrtime.bigint() / 1000n);
    for (let round = 0; round < rounds; round++) {
      for (const count of callers) {
        for (let turn = 0; turn < names.length; turn++) {
          const name = names[(round + turn) % names.length];
          figures[name][count].push(await measure(name, count, ms));
        }
      }
    }
    return { figures, calls, since };
  } finally {
    load.stop();
  }
}

function startLoad() {
  const child = fork(LOAD, { stdio: 'inherit' });
  const died = once(child, 'exit').then(() => ({ error: 'The load generator exited.' }));
  return {
    async measure(job) {
      child.send(job);
      const figures = await Promise.race([once(child, 'message').then(([message]) => message), died]);
      if (figures.error !== undefined) throw new Error(figures.error);
      return figures;
    },
    stop: () => child.disconnect(),
  };
}

async function run(load, { url, headers, pid, databasePid }, callers, ms) {
  const before = [cpuSeconds(pid), familyCpuSeconds(databasePid)];
  const { calls, seconds, p50, p99, busy } = await load.measure({ url, headers, callers, ms });
  const after = [cpuSeconds(pid), familyCpuSeconds(databasePid)];
  const [cpuPerCall, databaseCpuPerCall] = after.map((sum, i) => ((sum - before[i]) / calls) * 1e6);
  return { calls, rps: calls / seconds, p50, p99, cpuPerCall, databaseCpuPerCall, busy };
}
