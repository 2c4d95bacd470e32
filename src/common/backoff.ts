const FIRST_DELAY_MS = 25;
const LONGEST_DELAY_MS = 2_000;

/** The pause before attempt `attempt` + 1 (from 1), in milliseconds: doubling from 25 ms to 2 s, half of it random. */
export function backoffMs(attempt: number): number {
  const full = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return full / 2 + Math.random() * (full / 2);
}
