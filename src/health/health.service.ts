import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { TtlCache } from '../common/ttl-cache.js';
import { withTimeout } from '../common/with-timeout.js';
import { QueueProbe } from '../queue/queue-probe.js';

const PROBE_TIMEOUT_MS = 2000;
/** Anybody may ask: a flood of questions costs one probe in this time. */
const BELIEVED_MS = 500;

export type CheckResult = 'ok' | 'unavailable';

/** What readiness is made of. */
export interface Readiness {
  status: CheckResult;
  checks: Record<string, CheckResult>;
}

@Injectable()
export class HealthService {
  private readonly last = new TtlCache<Readiness>({ ttlMs: BELIEVED_MS, maxEntries: 1 });

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly queue: QueueProbe,
  ) {}

  /** What the last probe found; it is at most half a second old. */
  readiness(): Readiness | Promise<Readiness> {
    return this.last.get('', () => this.probe());
  }

  /** Asks everything that requests depend on, all at once, for two seconds at most. */
  async probe(): Promise<Readiness> {
    const [database, queue] = await Promise.all([
      answers(this.dataSource.query('SELECT 1')),
      answers(this.queue.ping()),
    ]);
    const checks = { database, queue, ...(this.queue.usesRedis ? { redis: queue } : {}) };
    const status = Object.values(checks).every((check) => check === 'ok') ? 'ok' : 'unavailable';
    return { status, checks };
  }
}

function answers(probe: Promise<unknown>): Promise<CheckResult> {
  const result = probe.then(
    (): CheckResult => 'ok',
    (): CheckResult => 'unavailable',
  );
  return withTimeout(result, PROBE_TIMEOUT_MS, () => 'unavailable' as const);
}
