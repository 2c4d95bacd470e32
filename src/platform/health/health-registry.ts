import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { byName, contributedMethods } from '../../core/contributions.js';
import { HEALTH_CHECK, type HealthCheckDefinition } from '../../core/health-check.js';
import { withTimeout } from '../../core/with-timeout.js';

export type CheckResult = 'ok' | 'unavailable';

interface RegisteredCheck extends HealthCheckDefinition {
  readonly run: () => unknown;
  /** The last result, so that only a change is logged. */
  last: CheckResult;
}

const NAME = /^[a-z][a-z0-9_]*$/;

/** Every `@HealthCheck` of the application, discovered at startup. A duplicate name stops the start. */
@Injectable()
export class HealthRegistry implements OnModuleInit {
  private readonly logger = new Logger('Health');
  private checks: readonly RegisteredCheck[] = [];

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    const found = contributedMethods<HealthCheckDefinition, () => unknown>(this.discovery, HEALTH_CHECK);
    const checks = byName(found, { sort: 'health check', form: NAME }).values();
    this.checks = [...checks].map(({ metadata, value }) => ({ ...metadata, run: value, last: 'ok' }));
  }

  /** Runs all checks concurrently. The results are sorted by name. */
  async runAll(): Promise<Record<string, CheckResult>> {
    const checks = this.checks.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return Object.fromEntries(await Promise.all(checks.map(async (check) => [check.name, await this.run(check)])));
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
