import { Injectable } from '@nestjs/common';
import { PreparedStatements } from '../../../platform/database/prepared-statements.js';
import { type RunClaim, StaleAttemptError } from './run-attempt.js';
import { refuseSpending, type SpendRefusal } from './spend-refusal.js';

const RESERVE = {
  name: 'spend_reserve',
  text: 'SELECT _outcome AS outcome, _refusal AS refusal FROM spend_reserve($1, $2, $3, $4, $5)',
};
const SETTLE = { name: 'spend_settle_call', text: 'SELECT spend_settle_call($1, $2, $3)' };

type ReserveRow =
  | { outcome: 'reserved' | 'unlimited' | 'stale' | 'price_missing'; refusal: null }
  | { outcome: 'spend_limit_reached'; refusal: Omit<Extract<SpendRefusal, { scope: unknown }>, 'code'> };

/** Reserves model calls in the windows of all spending limits that apply to a run, and settles them. */
@Injectable()
export class RunSpending {
  constructor(private readonly statements: PreparedStatements) {}

  /**
   * Reserves a model call in all windows at once. The call can be repeated.
   * @param callId a UUID
   * @param model names a model without a price
   * @param usd what the call can cost at most; null without a price
   * @returns whether there is something to settle: false if no limit applies to the run
   * @throws StaleAttemptError, DomainError `spend_limit_reached`, `price_missing`
   */
  async reserve(
    { runId, attempt, epoch }: RunClaim,
    callId: string,
    model: string,
    usd: number | null,
  ): Promise<boolean> {
    const [row] = await this.statements.rows<ReserveRow>(RESERVE, [runId, attempt, epoch, callId, usd]);
    switch (row?.outcome) {
      case 'reserved':
      case 'unlimited':
        return row.outcome === 'reserved';
      case 'price_missing':
        throw refuseSpending({ code: 'price_missing', path: model });
      case 'spend_limit_reached':
        throw refuseSpending({ code: 'spend_limit_reached', ...row.refusal });
      default:
        throw new StaleAttemptError({ runId, attempt, epoch });
    }
  }

  /**
   * Settles a reserved model call. The call can be repeated, and does nothing once another attempt, or the end of the
   * run, has settled it.
   * @param usd what it has cost; null counts what was reserved
   */
  async settle({ runId }: RunClaim, callId: string, usd: number | null): Promise<void> {
    await this.statements.rows(SETTLE, [runId, callId, usd]);
  }
}
