import { Injectable } from '@nestjs/common';
import { TtlCache } from '../../core/ttl-cache.js';
import { type CheckResult, HealthRegistry } from './health-registry.js';

/** The endpoint is public: requests within this time share one probe. */
const BELIEVED_MS = 500;

/** The result of readiness checks. */
export interface Readiness {
  status: CheckResult;
  checks: Record<string, CheckResult>;
}

@Injectable()
export class HealthService {
  private readonly last = new TtlCache<Readiness>({ ttlMs: BELIEVED_MS, maxEntries: 1 });

  constructor(private readonly registry: HealthRegistry) {}

  /** The result of the last probe; at most half a second old. */
  readiness(): Readiness | Promise<Readiness> {
    return this.last.get('', () => this.probe());
  }

  /** Runs every check that a module has registered with `@HealthCheck`. */
  async probe(): Promise<Readiness> {
    const checks = await this.registry.runAll();
    const status = Object.values(checks).every((check) => check === 'ok') ? 'ok' : 'unavailable';
    return { status, checks };
  }
}
