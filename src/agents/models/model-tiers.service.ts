import { Injectable } from '@nestjs/common';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import type { ModelTiersChange, ModelTiersItem, TierTarget } from './model-tiers.dto.js';
import type { ModelTierEntity } from './model-tier.entity.js';
import { ModelTiersRepository, type TierChanges } from './model-tiers.repository.js';
import { type Tier, TIERS } from '../../core/tier.js';

/** Which model serves each tier of an organization. */
@Injectable()
export class ModelTiersService {
  constructor(private readonly repository: ModelTiersRepository) {}

  async get(caller: Principal): Promise<ModelTiersItem> {
    const tiers = await this.repository.findAllOfOrganization(caller.organization.id);
    const targetOf = (tier: Tier) => {
      const found = tiers.find((row) => row.tier === tier);
      return found === undefined ? null : toTarget(found);
    };
    return { fast: targetOf('fast'), smart: targetOf('smart'), thinking: targetOf('thinking') };
  }

  /** @throws DomainError `not_found` that names each tier whose provider is outside the organization */
  async set(change: ModelTiersChange, caller: Principal): Promise<ModelTiersItem> {
    const unknown = await this.repository.change(caller.organization.id, toTierChanges(change), caller);
    if (unknown.length > 0) throw unknownProviders(unknown);
    return this.get(caller);
  }
}

function toTarget({ providerId, model, price }: ModelTierEntity): TierTarget {
  return { provider_id: providerId, model, ...(price && { price }) };
}

function toTierChanges(change: ModelTiersChange): TierChanges {
  const changes: TierChanges = {};
  for (const tier of TIERS) {
    const target = change[tier];
    if (target === undefined) continue;
    // PostgreSQL writes UUIDs in lower case; callers can use upper case.
    changes[tier] = target && {
      providerId: target.provider_id.toLowerCase(),
      model: target.model,
      price: target.price ?? null,
    };
  }
  return changes;
}

function unknownProviders(tiers: readonly Tier[]): DomainError {
  const message = 'There is no AI provider with this id in the organization.';
  const errors = tiers.map((tier) => ({ path: `data.${tier}.provider_id`, code: 'not_found', message }));
  return new DomainError('not_found', message, errors);
}
