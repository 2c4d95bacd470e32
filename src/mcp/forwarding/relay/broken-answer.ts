import { DomainError } from '../../../common/domain-error.js';
import { toUpstreamError } from '../../../upstreams/contract/to-upstream-error.js';
import type { RelayPlan } from './relay-plan.js';

const ADDRESS = 'the other end';

/** What it means that an answer could not be read to its end. */
export function brokenAnswer(error: unknown, plan: Pick<RelayPlan, 'explain'>): unknown {
  const cause = plan.explain(error);
  if (cause instanceof DomainError) return cause;
  // Errors of sockets have codes. One without is our own fault, and must not be blamed on the upstream.
  const isOfSocket = typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string';
  return isOfSocket ? toUpstreamError(cause, ADDRESS) : cause;
}
