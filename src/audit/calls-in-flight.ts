const PERIOD_MS = 16;

/**
 * How many calls are on their way that will probably end soon: those that began within the last 16 to 32 ms and have not
 * ended. Older ones are slow calls, and no guide to how long waiting for another record is worth it.
 */
export class CallsInFlight {
  private period = 0;
  private ofThisPeriod = 0;
  private ofLastPeriod = 0;

  get count(): number {
    return this.ofThisPeriod + this.ofLastPeriod;
  }

  /**
   * Counts a call.
   * @param now milliseconds; steps of the clock do no harm
   * @returns what `leave` wants to know about it
   */
  enter(now: number): number {
    const period = Math.floor(now / PERIOD_MS);
    if (period !== this.period) {
      this.ofLastPeriod = period === this.period + 1 ? this.ofThisPeriod : 0;
      this.ofThisPeriod = 0;
      this.period = period;
    }
    this.ofThisPeriod++;
    return period;
  }

  leave(period: number): void {
    if (period === this.period) this.ofThisPeriod--;
    else if (period === this.period - 1 && this.ofLastPeriod > 0) this.ofLastPeriod--;
  }
}
