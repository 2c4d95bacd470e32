/** Reads a bigint column as a number: our counters stay far below 2^53. */
export const BIGINT_AS_NUMBER = {
  from: (value: string | null): number | null => (value === null ? null : Number(value)),
  to: (value: number | null): number | null => value,
};
