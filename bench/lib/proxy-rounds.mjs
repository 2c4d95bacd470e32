import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpuSeconds, familyCpuSeconds, serviceCpuSeconds } from './proxy-process.mjs';
import { turnsOf } from './turns.mjs';

const LOAD = new URL('proxy-load.mjs', import.meta.url);

/**
 * Measures every target of every upstream with every number of callers. The targets of an upstream alternate within a
 * round, in another order each round, so that other load on the machine affects all of them.
 * @param {Record<string, Record<string, import('./proxy-targets.mjs').Target>>} targets by upstream and name
 * @param {{ callers: number[], rounds: number, ms: number, warmUpMs: number }} options `ms` and `warmUpMs` of each
 *   target
 * @returns `since`: the end of the warm-up, in microseconds of the monotonic clock; `calls[name]`: the number of calls,
 * including the warm-up; `figures[upstream][name][callers]`: one `{ calls, rps, p50, p99, cpu, databaseCpu, busy }` per
 * round (ms; CPU in microseconds, NaN if unknown)
 */
export async function measureInTurns(targets, { callers, rounds, ms, warmUpMs }) {
  const figures = {};
  const calls = {};
  const load = startLoad();
  const measure = async (kind, name, count, forMs) => {
    const round = await run(load, targets[kind][name], count, forMs);
    calls[name] = (calls[name] ?? 0) + round.calls;
    return round;
  };
  const everyTurn = async (round, work) => {
    for (const count of callers) {
      for (const [kind, ofKind] of Object.entries(targets)) {
        for (const name of turnsOf(round, Object.keys(ofKind))) await work(kind, name, count);
      }
    }
  };
  try {
    await everyTurn(0, (kind, name, count) => measure(kind, name, count, warmUpMs));
    const since = Number(process.hrtime.bigint() / 1000n);
    for (let round = 0; round < rounds; round++) {
      await everyTurn(round, async (kind, name, count) => {
        (((figures[kind] ??= {})[name] ??= {})[count] ??= []).push(await measure(kind, name, count, ms));
      });
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

async function run(load, { pid, databasePid, ...target }, callers, ms) {
  const read = () =>
    databasePid === undefined
      ? [cpuSeconds(pid)]
      : [serviceCpuSeconds(pid, databasePid), familyCpuSeconds(databasePid)];
  const before = read();
  const { calls, seconds, p50, p99, busy } = await load.measure({ ...target, callers, ms });
  const after = read();
  const [cpu, databaseCpu = NaN] = after.map((sum, i) => (sum - before[i]) * 1e6);
  return { calls, rps: calls / seconds, p50, p99, cpu, databaseCpu, busy };
}
