import { Injectable } from '@nestjs/common';
import { PreparedStatements } from '../../../platform/database/prepared-statements.js';
import { type RunClaim, StaleAttemptError } from './run-attempt.js';
import { DomainError } from '../../../core/domain-error.js';

/** What can have a spending limit. */
export const SPEND_SCOPES = ['organization', 'agent', 'key', 'person'] as const;
export type SpendScope = (typeof SPEND_SCOPES)[number];

/** UTC days and months. */
export const SPEND_PERIODS = ['day', 'month'] as const;
export type SpendPeriod = (typeof SPEND_PERIODS)[number];

/** Why a model call is not paid for, as the functions `spend_…` of the database tell it. */
export type SpendRefusal =
  | { readonly code: 'price_missing'; readonly path: string }
  | {
      readonly code: 'spend_limit_reached';
      readonly scope: SpendScope;
      readonly period: SpendPeriod;
      /** When there can be room again. */
      readonly retryAfterS: number;
    };

/** The error for a run request whose first model call is not paid for, and for a run that cannot go on. */
export function refuseSpending(refusal: SpendRefusal): DomainError {
  if (refusal.code === 'price_missing') {
    const { code, path } = refusal;
    const message = `The model of ${path} has no price, and a spending limit applies. Set one with MODEL_TIERS_SET.`;
    return new DomainError(code, message, [{ path, code, message }]);
  }
  const { code, scope, period, retryAfterS } = refusal;
  const detail = `The spending limit of the ${scope} for this ${period} leaves too little for the next model call.`;
  return new DomainError(code, detail, [], { headers: { 'retry-after': String(retryAfterS) } });
}

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
