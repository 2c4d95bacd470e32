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
