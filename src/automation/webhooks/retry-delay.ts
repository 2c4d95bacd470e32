const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

/** The pause after each failed try. The try after the last pause is the last one. */
const PAUSES_MS = [5 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR];
/** Spreads the tries of deliveries that failed together. */
const SPREAD = 0.1;

/**
 * The pause before the next try, in milliseconds; undefined after the last try.
 * @param tries the number of failed tries, at least 1
 * @param random in [0, 1)
 */
export function retryDelay(tries: number, random = Math.random()): number | undefined {
  const pause = PAUSES_MS[tries - 1];
  return pause === undefined ? undefined : Math.round(pause * (1 - SPREAD + 2 * SPREAD * random));
}
