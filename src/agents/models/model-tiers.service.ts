import { Injectable } from '@nestjs/common';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import type { ModelTiersChange, ModelTiersItem, TierTarget } from './model-tiers.dto.js';
import { ModelTiersRepository, type TierChanges, modelsOf, toColumns, toTarget } from './model-tiers.repository.js';
import { type Tier, TIERS } from '../../core/tier.js';

/** Which models serve each tier of an organization. */
@Injectable()
export class ModelTiersService {
  constructor(private readonly repository: ModelTiersRepository) {}

  async get(caller: Principal): Promise<ModelTiersItem> {
    const rows = await this.repository.findAllOfOrganization(caller.organization.id);
    const targetOf = (tier: Tier): TierTarget | null => toTarget(rows.filter((row) => row.tier === tier));
    return { fast: targetOf('fast'), smart: targetOf('smart'), thinking: targetOf('thinking') };
  }

  /**
   * @throws DomainError `invalid_request` for a tier with the same model twice, `not_found` that names each model whose
   *   provider is outside the organization
   */
  async set(change: ModelTiersChange, caller: Principal): Promise<ModelTiersItem> {
    const changes: TierChanges = {};
    for (const tier of TIERS) {
      const target = change[tier];
      if (target !== undefined) changes[tier] = target === null ? [] : toColumns(tier, target);
    }
    const unknown = await this.repository.change(caller.organization.id, changes, caller);
    if (unknown.length > 0) throw unknownProviders(change, unknown);
    return this.get(caller);
  }
}

function unknownProviders(change: ModelTiersChange, unknown: readonly string[]): DomainError {
  const message = 'There is no AI provider with this id in the organization.';
  const errors = TIERS.flatMap((tier) => {
    const target = change[tier];
    if (!target) return [];
    return modelsOf(target)
      .filter(([, model]) => unknown.includes(model.provider_id.toLowerCase()))
      .map(([path]) => ({ path: `data.${tier}${path}.provider_id`, code: 'not_found', message }));
  });
  return new DomainError('not_found', message, errors);
}
