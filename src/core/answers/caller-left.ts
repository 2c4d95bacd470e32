import { DomainError } from '../domain-error.js';
import type { HeldAnswer } from './answer-budget.js';

/**
 * Ends work whose answer nobody waits for any more.
 * @throws DomainError `request_abandoned`
 */
export function endIfCallerLeft({ callerLeft }: Pick<HeldAnswer, 'callerLeft'>): void {
  if (callerLeft.aborted) throw new DomainError('request_abandoned');
}
