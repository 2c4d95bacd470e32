import { setTimeout as sleep } from 'node:timers/promises';

/** Enough for a busy machine, and less than the time limit of a test, whose failure does not say what was missing. */
const PATIENCE_MS = 30_000;

/**
 * Repeats `look` until its expectations hold and it does not return false, and returns its result. Any other error ends
 * the wait.
 * @param withinMs where the time is part of the promise, or where a test has a longer time limit of its own
 * @throws the last failed expectation
 */
export async function eventually<T>(look: () => T | Promise<T>, withinMs = PATIENCE_MS): Promise<Exclude<T, false>> {
  for (const deadline = performance.now() + withinMs; ; await sleep(20)) {
    try {
      const result = await look();
      if (result !== false) return result as Exclude<T, false>;
      if (performance.now() > deadline) throw new Error(`This does not hold: ${look.toString()}`);
    } catch (error) {
      const { matcherResult, message } = error as Error & { matcherResult?: unknown };
      // A matcher refuses values of another kind, such as undefined, with a plain error.
      const isExpectation = matcherResult !== undefined || message.includes('Matcher error');
      if (!isExpectation || performance.now() > deadline) throw error;
    }
  }
}
