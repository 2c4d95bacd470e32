/** Of a core that a schema may cost by checks that run over their time, in the long run. */
const SHARE = 0.05;

/**
 * Bounds what a schema may cost by checks that run over their time. Each overrun is a debt that time pays off; while it
 * exceeds the tolerance, the schema is kept away from the threads. So a few overruns, which the arguments of one caller
 * can bring about, do not take the tool away from the others. Times in milliseconds.
 */
export class Quarantine {
  private debt = 0;
  private since = 0;

  constructor(private readonly tolerance: number) {}

  /** A check ran over its time and was ended after `spent`. */
  charge(spent: number, now: number): void {
    this.debt = this.owed(now) + spent;
    this.since = now;
  }

  holds(now: number): boolean {
    return this.owed(now) > this.tolerance;
  }

  private owed(now: number): number {
    return Math.max(0, this.debt - (now - this.since) * SHARE);
  }
}
