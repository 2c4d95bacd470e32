import { EventReader } from '../http-client.mjs';
import { cpuSeconds, familyCpuSeconds } from '../proxy-process.mjs';
import { ANSWER, QUICK } from './script.mjs';

/** Posts runs one after the other. @returns milliseconds to the first word and to the end of each answer */
export async function latencyOf(target, runs) {
  const [first, whole] = [[], []];
  for (let i = 0; i < runs; i++) {
    const run = await target.newRun(QUICK);
    const start = performance.now();
    const { firstAt, endAt } = await readAnswer(target, run);
    first.push(firstAt - start);
    whole.push(endAt - start);
  }
  return { first, whole };
}

/**
 * Callers, of which each posts its next run when the answer to its last one is complete. The threads of ours are made
 * before the clock starts: the peers have none.
 * @returns the number of runs, seconds, and CPU seconds of the server with its databases
 */
export async function throughputOf({ target, databasePids }, callers, forMs) {
  const runs = await Promise.all(Array.from({ length: callers }, () => target.newRun(QUICK)));
  const cpu = () => databasePids.reduce((sum, pid) => sum + familyCpuSeconds(pid), cpuSeconds(target.pid));
  const [before, start] = [cpu(), performance.now()];
  let count = 0;
  await Promise.all(
    runs.map(async (first) => {
      for (let run = first; performance.now() - start < forMs; run = await nextOf(target, run)) {
        await readAnswer(target, run);
        count++;
      }
    }),
  );
  return { count, seconds: (performance.now() - start) / 1000, cpuSeconds: cpu() - before };
}

/** A thread takes the next run; a run without a thread has an address of its own. */
function nextOf(target, run) {
  return run.isThread ? run : target.newRun(QUICK);
}

async function readAnswer({ headers }, run) {
  const reader = await EventReader.open(run.post, headers, run.body);
  let [text, firstAt] = ['', undefined];
  for (;;) {
    const { data, at } = await reader.next();
    if (data === '[DONE]') {
      if (text !== ANSWER) throw new Error(`An answer is ${JSON.stringify(text)}.`);
      return { firstAt, endAt: at };
    }
    const part = JSON.parse(data);
    if (part.type === 'error') throw new Error(`A run failed: ${data}`);
    if (part.type !== 'text-delta') continue;
    firstAt ??= at;
    text += part.delta;
  }
}
