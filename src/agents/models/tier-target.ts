import { DomainError } from '../../core/domain-error.js';
import type { Tier } from '../../core/tier.js';
import type { TierModel, TierTarget } from './model-tiers.dto.js';
import type { TierModelColumns } from './model-tier.entity.js';

/** The models of a tier as callers see them; null if there are none. */
export function toTarget([first, ...fallbacks]: readonly TierModelColumns[]): TierTarget | null {
  if (first === undefined) return null;
  return { ...toModel(first), ...(fallbacks.length > 0 && { fallbacks: fallbacks.map(toModel) }) };
}

/** The models of a tier in the order in which they are tried, each with its path in the target. */
export function modelsOf(target: TierTarget): [path: string, model: TierModel][] {
  const { fallbacks = [] } = target;
  return [['', target], ...fallbacks.map((model, n): [string, TierModel] => [`.fallbacks[${n}]`, model])];
}

/** @throws DomainError `invalid_request` if the tier has a model twice */
export function toColumns(tier: Tier, target: TierTarget): TierModelColumns[] {
  const seen = new Set<string>();
  return modelsOf(target).map(([path, model]) => {
    const columns = toModelColumns(model);
    const key = `${columns.providerId} ${columns.model}`;
    if (seen.has(key)) throw repeated(`data.${tier}${path}`);
    seen.add(key);
    return columns;
  });
}

function toModel({ providerId, model, price, maxOutputTokens, firstChunkTimeoutS }: TierModelColumns): TierModel {
  return {
    provider_id: providerId,
    model,
    ...(price && { price }),
    ...(maxOutputTokens !== null && { max_output_tokens: maxOutputTokens }),
    ...(firstChunkTimeoutS !== null && { first_chunk_timeout_s: firstChunkTimeoutS }),
  };
}

function toModelColumns(model: TierModel): TierModelColumns {
  return {
    // PostgreSQL writes UUIDs in lower case; callers can use upper case.
    providerId: model.provider_id.toLowerCase(),
    model: model.model,
    price: model.price ?? null,
    maxOutputTokens: model.max_output_tokens ?? null,
    firstChunkTimeoutS: model.first_chunk_timeout_s ?? null,
  };
}

function repeated(path: string): DomainError {
  const message = 'The tier names this model of this provider twice.';
  return new DomainError('invalid_request', message, [{ path, code: 'repeated', message }]);
}
