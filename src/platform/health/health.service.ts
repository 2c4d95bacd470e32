import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { byName, contributedMethods } from '../../core/contributions.js';
import { HEALTH_CHECK, type HealthCheckDefinition } from '../../core/health-check.js';
import { TtlCache } from '../../core/ttl-cache.js';
import { withTimeout } from '../../core/with-timeout.js';

type CheckResult = 'ok' | 'unavailable';

export interface Readiness {
  status: CheckResult;
  checks: Record<string, CheckResult>;
}

/** The endpoint is public: requests within this time share one probe. */
const BELIEVED_MS = 500;

interface RegisteredCheck extends HealthCheckDefinition {
  readonly run: () => unknown;
  /** The last result, so that only a change is logged. */
  last: CheckResult;
}

const NAME = /^[a-z][a-z0-9_]*$/;

/** Runs every `@HealthCheck` of the application, discovered at startup. A duplicate name stops the start. */
@Injectable()
export class HealthService implements OnModuleInit {
  private readonly logger = new Logger('Health');
  private readonly last = new TtlCache<Readiness>({ ttlMs: BELIEVED_MS, maxEntries: 1 });
  private checks: readonly RegisteredCheck[] = [];

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    const found = contributedMethods<HealthCheckDefinition, () => unknown>(this.discovery, HEALTH_CHECK);
    const checks = byName(found, { sort: 'health check', form: NAME }).values();
    this.checks = [...checks].map(({ metadata, value }) => ({ ...metadata, run: value, last: 'ok' }));
  }

  /** The result of the last probe; at most half a second old. */
  readiness(): Readiness | Promise<Readiness> {
    return this.last.get('', () => this.probe());
  }

  /** Runs all checks concurrently. The results are sorted by name. */
  async probe(): Promise<Readiness> {
    const sorted = this.checks.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const results = await Promise.all(sorted.map(async (check) => [check.name, await this.run(check)] as const));
    const status = results.every(([, result]) => result === 'ok') ? 'ok' : 'unavailable';
    return { status, checks: Object.fromEntries(results) };
  }

  private async run(check: RegisteredCheck): Promise<CheckResult> {
    const fault = await faultOf(check);
    const result = fault === undefined ? 'ok' : 'unavailable';
    if (check.last !== result) this.logChange(check.name, fault);
    check.last = result;
    return result;
  }

  private logChange(check: string, fault: string | undefined): void {
    if (fault === undefined) this.logger.log({ check }, 'A health check passes again');
    else this.logger.warn({ check, reason: fault }, 'A health check fails');
  }
}

/** Why the check failed; undefined when it passed. */
async function faultOf({ run, timeoutMs }: RegisteredCheck): Promise<string | undefined> {
  const outcome = (async () => run())().then(
    () => undefined,
    (error: unknown) => (error instanceof Error && error.message !== '' ? error.message : String(error)),
  );
  return withTimeout(outcome, timeoutMs, () => `It took longer than ${timeoutMs} ms.`);
}
