import { describe, expect, it } from '@jest/globals';
import { processorTime } from './check-thread.js';

const TIME_MS = 20;

/** A thread that has this share of a processor. */
function threadWith(share: number): Parameters<typeof processorTime>[0] {
  const begun = performance.now();
  return {
    cpuUsage: async (before) => ({
      user: (performance.now() - begun) * 1_000 * share - (before?.user ?? 0),
      system: 0,
    }),
  };
}

async function waitFor(thread: Parameters<typeof processorTime>[0]): Promise<number> {
  const begun = performance.now();
  await processorTime(thread, TIME_MS, new AbortController().signal);
  // Timers are early by less than a millisecond.
  return performance.now() - begun + 1;
}

describe('processorTime', () => {
  it('is longer for a thread that waits for a processor, and ends for one that gets none', async () => {
    const [whole, quarter, none, silent] = await Promise.all([
      waitFor(threadWith(1)),
      waitFor(threadWith(0.25)),
      waitFor(threadWith(0)),
      waitFor({ cpuUsage: () => new Promise(() => undefined) }),
    ]);
    expect(whole).toBeGreaterThanOrEqual(TIME_MS);
    expect(quarter).toBeGreaterThanOrEqual(4 * TIME_MS);
    expect(none).toBeGreaterThanOrEqual(9 * TIME_MS);
    expect(silent).toBeGreaterThanOrEqual(9 * TIME_MS);
  });

  it('is given up with its signal', async () => {
    const stopping = new AbortController();
    const waiting = processorTime(threadWith(0), TIME_MS, stopping.signal);
    stopping.abort();
    await expect(waiting).rejects.toThrow();
  });
});
