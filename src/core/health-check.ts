import { SetMetadata } from '@nestjs/common';

/** A named check of `/health/ready`. */
export interface HealthCheckDefinition {
  /** The key of the check in the response. */
  readonly name: string;
  /** Milliseconds after which an unsettled check counts as failed. */
  readonly timeoutMs: number;
}

export const HEALTH_CHECK = 'signalbox:health-check';

const TIMEOUT_MS = 2_000;

/**
 * Makes a provider's method a check of `/health/ready`: it passes when the method returns or resolves, and fails when
 * it throws, rejects, or exceeds its time limit. Names are unique in an application; a duplicate stops the start.
 * @param name lower-case letters, digits and underscores
 */
export function HealthCheck(name: string, { timeoutMs = TIMEOUT_MS } = {}): MethodDecorator {
  const definition: HealthCheckDefinition = { name, timeoutMs };
  return SetMetadata(HEALTH_CHECK, definition);
}
