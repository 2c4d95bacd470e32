/**
 * Upper bounds of the buckets in seconds, 0.5 ms to 5 min. From 10 ms they match the MCP convention; the finer ones
 * below show the latency that a proxy adds.
 */
export const DURATION_BOUNDARIES = [
  0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
];

/** Durations in seconds, counted in buckets. Counts and sum are exact and only grow. */
export class DurationHistogram {
  readonly bucketCounts: number[] = DURATION_BOUNDARIES.map(() => 0).concat(0);
  count = 0;
  sum = 0;

  record(seconds: number): void {
    // Most calls take milliseconds, so a linear search is faster than a binary one.
    let bucket = 0;
    while (bucket < DURATION_BOUNDARIES.length && seconds > DURATION_BOUNDARIES[bucket]!) bucket++;
    this.bucketCounts[bucket]!++;
    this.count++;
    this.sum += seconds;
  }

  add(other: DurationHistogram): void {
    for (let bucket = 0; bucket < this.bucketCounts.length; bucket++) {
      this.bucketCounts[bucket]! += other.bucketCounts[bucket]!;
    }
    this.count += other.count;
    this.sum += other.sum;
  }
}
