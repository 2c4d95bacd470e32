import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../../core/periodic-task.js';
import { Meter, type Verdict } from './meter.js';
import { QuotaStore } from './quota-store.js';

/** A limit that applies to a request. */
export interface RateLimit {
  /** The name in response headers. */
  readonly name: string;
  /** Whose requests count together. Unique over all kinds of limits. */
  readonly key: string;
  readonly perMinute: number;
}

/** A limit and what it says about a request. */
export interface AppliedLimit {
  readonly limit: RateLimit;
  readonly verdict: Verdict;
}

const SWEEP_EVERY_MS = 10_000;
/** Limits the memory for keys, because anonymous callers are counted by address. */
const MAX_METERS = 200_000;
const LOG_EVERY_MS = 10_000;

/** Counts requests against their limits, over all processes. */
@Injectable()
export class RateLimits implements OnApplicationShutdown {
  private readonly logger = new Logger(RateLimits.name);
  private readonly meters = new Map<string, Meter>();
  private loggedAt = -LOG_EVERY_MS;
  private readonly sweeps = new PeriodicTask(() => this.sweep(), {
    pauseMs: SWEEP_EVERY_MS,
    isNeeded: () => this.meters.size > 0,
    onError: (error) => this.reportStoreError(error),
  });

  constructor(private readonly store: QuotaStore) {}

  /**
   * Counts a request against all of these limits, also if one of them refuses it. Returns a promise only if a query is
   * needed. Never rejects.
   */
  count(limits: readonly RateLimit[]): readonly AppliedLimit[] | Promise<readonly AppliedLimit[]> {
    const verdicts = limits.map((limit) => this.meterOf(limit.key).take(limit.perMinute));
    const applied = (settled: readonly Verdict[]): readonly AppliedLimit[] =>
      limits.map((limit, index) => ({ limit, verdict: settled[index] as Verdict }));
    return verdicts.some((verdict) => verdict instanceof Promise)
      ? Promise.all(verdicts).then(applied)
      : applied(verdicts as Verdict[]);
  }

  onApplicationShutdown(): Promise<void> {
    return this.sweeps.stop();
  }

  private meterOf(key: string): Meter {
    const known = this.meters.get(key);
    if (known !== undefined) return known;
    const meter = new Meter(key, this.store, (error) => this.reportStoreError(error));
    const [oldest] = this.meters.size < MAX_METERS ? [] : this.meters.keys();
    if (oldest !== undefined) this.meters.delete(oldest);
    this.meters.set(key, meter);
    this.sweeps.start();
    return meter;
  }

  private async sweep(): Promise<void> {
    const now = Date.now();
    for (const [key, meter] of this.meters) {
      if (meter.isOver(now)) this.meters.delete(key);
    }
  }

  private reportStoreError(error: unknown): void {
    if (performance.now() - this.loggedAt < LOG_EVERY_MS) return;
    this.loggedAt = performance.now();
    this.logger.warn({ err: error }, 'The store of the rate limits is unavailable; each process enforces them alone');
  }
}
