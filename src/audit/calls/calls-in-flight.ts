const PERIOD_MS = 16;

/**
 * Counts the calls in progress that will probably end soon: those that started within the last 16 to 32 ms. Older calls
 * are slow and do not predict when the next record arrives.
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
   * @param now milliseconds; clock steps are harmless
   * @returns the argument for `leave`
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
