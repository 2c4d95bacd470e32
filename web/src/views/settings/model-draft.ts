import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { type LimitsDraft, limitsDraftOf, limitsOf } from './limit-fields.js';
import { type PriceDraft, priceDraftOf, priceOf } from './price-fields.js';

/** What serves a tier; null for nothing. */
export type StoredTarget = ToolOutput<'MODEL_TIERS_GET'>['item']['smart'];
type Target = NonNullable<StoredTarget>;
type Model = NonNullable<Target['fallbacks']>[number];

/** A model of a tier as the form holds it. */
export interface ModelDraft {
  /** Stays the same wherever the model moves. */
  readonly key: string;
  readonly providerId: string;
  readonly model: string;
  readonly price: PriceDraft;
  readonly limits: LimitsDraft;
  /** What a later service stores with the model: a page that was loaded before its start must not take it away. */
  readonly others: object;
}

let count = 0;

/** The first model of a tier, whose provider is empty if the tier has no models, and its fallbacks. */
export function draftsOf(stored: StoredTarget): readonly ModelDraft[] {
  if (stored === null) return [newDraft('')];
  const { fallbacks = [], ...first } = stored;
  return [draftOf(first), ...fallbacks.map(draftOf)];
}

export function newDraft(providerId: string): ModelDraft {
  return draftOf({ provider_id: providerId, model: '' });
}

function draftOf({
  provider_id,
  model,
  price,
  max_output_tokens,
  first_chunk_timeout_s,
  ...others
}: Model): ModelDraft {
  return {
    key: String(count++),
    providerId: provider_id,
    model,
    price: priceDraftOf(price),
    limits: limitsDraftOf({ max_output_tokens, first_chunk_timeout_s }),
    others,
  };
}

/** The models as `MODEL_TIERS_SET` takes them. */
export function targetOf([first, ...fallbacks]: readonly ModelDraft[]): StoredTarget {
  if (first === undefined || first.providerId === '') return null;
  return { ...modelOf(first), ...(fallbacks.length > 0 && { fallbacks: fallbacks.map(modelOf) }) };
}

function modelOf({ providerId, model, price, limits, others }: ModelDraft): Model {
  return { ...others, provider_id: providerId, model: model.trim(), ...priceOf(price), ...limitsOf(limits) };
}
