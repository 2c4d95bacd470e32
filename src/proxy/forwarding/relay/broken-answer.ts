import { DomainError } from '../../../core/domain-error.js';
import { toUpstreamError } from '../../../upstreams/contract/to-upstream-error.js';
import type { RelayPlan } from './relay-plan.js';

const ADDRESS = 'the other end';

/** The error for an answer that could not be read to its end. */
export function brokenAnswer(error: unknown, plan: Pick<RelayPlan, 'explain'>): unknown {
  const cause = plan.explain(error);
  if (cause instanceof DomainError) return cause;
  // Socket errors have codes. An error without one is a fault of this service and must not be attributed to the
  // upstream.
  const isOfSocket = typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string';
  return isOfSocket ? toUpstreamError(cause, ADDRESS) : cause;
}
