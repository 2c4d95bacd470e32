import { setTimeout as sleep } from 'node:timers/promises';

/** Enough for a busy machine, and less than the time limit of a test, whose failure does not say what was missing. */
const PATIENCE_MS = 30_000;

/**
 * Repeats `look` until its expectations hold and it does not return false, and returns its result. Any other error ends
 * the wait. The last look begins after the time is over, so that a process that was stalled looks once more.
 * @param withinMs where the time is part of the promise, or where a test has a longer time limit of its own
 * @throws the last failed expectation
 */
export async function eventually<T>(look: () => T | Promise<T>, withinMs = PATIENCE_MS): Promise<Exclude<T, false>> {
  for (const deadline = performance.now() + withinMs; ; await sleep(20)) {
    const isLast = performance.now() > deadline;
    try {
      const result = await look();
      if (result !== false) return result as Exclude<T, false>;
      if (isLast) throw new Error(`This does not hold: ${look.toString()}`);
    } catch (error) {
      const { matcherResult, message } = error as Error & { matcherResult?: unknown };
      // A matcher refuses values of another kind, such as undefined, with a plain error.
      const isExpectation = matcherResult !== undefined || message.includes('Matcher error');
      if (!isExpectation || isLast) throw error;
    }
  }
}
