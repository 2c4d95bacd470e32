/** The share of a core that a schema's overrunning checks can cost in the long run. */
const SHARE = 0.05;

/**
 * Bounds the cost of a schema's overrunning checks. Each overrun adds to a debt that decreases over time. While the debt exceeds
 * the tolerance, the schema is not checked. A few overruns, which the arguments of one caller can cause, therefore do not disable
 * the tool for others. Times are in milliseconds.
 */
export class Quarantine {
  private debt = 0;
  private since = 0;

  constructor(private readonly tolerance: number) {}

  /** Adds a check that was ended after `spent`. */
  charge(spent: number, now: number): void {
    this.debt = this.debtAt(now) + spent;
    this.since = now;
  }

  isActive(now: number): boolean {
    return this.debtAt(now) > this.tolerance;
  }

  private debtAt(now: number): number {
    return Math.max(0, this.debt - (now - this.since) * SHARE);
  }
}
