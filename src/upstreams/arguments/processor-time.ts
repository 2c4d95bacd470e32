import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';

/** The longest wait by the clock, as a multiple of the processor time. */
const MAX_STRETCH = 9;

/**
 * Resolves when a thread has had some more processor time, or has waited many times as long for it.
 * @param ms the processor time, in milliseconds
 * @throws the reason of the signal when it is aborted, or an error when the thread has ended
 */
export async function processorTime(thread: Pick<Worker, 'cpuUsage'>, ms: number, signal: AbortSignal): Promise<void> {
  const lastAt = performance.now() + MAX_STRETCH * ms;
  let before: NodeJS.CpuUsage | undefined;
  for (let left = ms; left > 0 && performance.now() < lastAt;) {
    // A thread that has no processor does not answer.
    const used = await Promise.race([thread.cpuUsage(before), sleep(ms, undefined, { signal })]);
    if (used === undefined) continue;
    if (before === undefined) before = used;
    else left = ms - (used.user + used.system) / 1_000;
    await sleep(Math.max(left, 0), undefined, { signal });
  }
}
