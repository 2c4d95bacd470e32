import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { EventActor } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { changeOrganization, lockOrganization } from '../../platform/database/organization-locks.js';
import { PreparedStatements } from '../../platform/database/prepared-statements.js';
import { ModelTierEntity, type TierModelColumns } from './model-tier.entity.js';
import type { StoredProvider } from './provider-models.js';
import { DEFAULT_TIER, type Tier } from '../../core/tier.js';
import { DomainError } from '../../core/domain-error.js';
import type { TierModel, TierTarget } from './model-tiers.dto.js';

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

/** The new value of each named tier: its models in the order in which they are tried. Without any, it is cleared. */
export type TierChanges = Partial<Record<Tier, readonly TierModelColumns[]>>;

/** A model that serves a tier, and its provider. */
interface ServingModel extends Omit<TierModelColumns, 'providerId'> {
  provider: StoredProvider;
}

const SERVING_MODELS = {
  name: 'model_tiers_serving',
  text: `
    SELECT p.id, p.kind, p.base_url AS "baseUrl", p.api_key AS "apiKey", p.options, p.secrets, t.model, t.price,
           t.max_output_tokens AS "maxOutputTokens", t.first_chunk_timeout_s AS "firstChunkTimeoutS"
      FROM model_tiers t JOIN ai_providers p ON p.id = t.provider_id AND p.organization_id = t.organization_id
     WHERE t.organization_id = $1 AND t.tier = (
             SELECT tier FROM model_tiers WHERE organization_id = $1 AND tier = ANY($2) ORDER BY tier = $3 DESC LIMIT 1)
     ORDER BY t.position`,
};

@Injectable()
export class ModelTiersRepository {
  constructor(
    @InjectRepository(ModelTierEntity) private readonly tiers: Repository<ModelTierEntity>,
    private readonly events: AuditEvents,
    private readonly statements: PreparedStatements,
  ) {}

  findAllOfOrganization(organizationId: string): Promise<ModelTierEntity[]> {
    return this.tiers.find({ where: { organizationId }, order: { position: 'ASC' } });
  }

  /** The models of this tier, or of the default tier if this one is not set, in the order in which they are tried. */
  async findServing(organizationId: string, tier: Tier): Promise<ServingModel[]> {
    const values = [organizationId, [tier, DEFAULT_TIER], tier];
    const rows = await this.statements.rowsByKey<StoredProvider & Omit<ServingModel, 'provider'>>(
      SERVING_MODELS,
      values,
    );
    return rows.map(({ model, price, maxOutputTokens, firstChunkTimeoutS, ...provider }) => ({
      provider,
      model,
      price,
      maxOutputTokens,
      firstChunkTimeoutS,
    }));
  }

  /**
   * Applies all changes, or none if a tier names a provider outside the organization.
   * @returns the providers that are unknown; empty when the changes were made
   */
  change(organizationId: string, changes: TierChanges, actor: EventActor): Promise<string[]> {
    return changeOrganization(this.tiers.manager, organizationId, async (manager) => {
      // One change after the other: each replaces whole tiers.
      await lockOrganization(manager, organizationId);
      const named = Object.values(changes).flatMap((models) => models.map(({ providerId }) => providerId));
      const unknown = await unknownProviders(manager, organizationId, named);
      if (unknown.length > 0) return unknown;
      for (const [tier, models] of Object.entries(changes) as [Tier, readonly TierModelColumns[]][]) {
        await manager.delete(ModelTierEntity, { organizationId, tier });
        await manager.insert(
          ModelTierEntity,
          models.map((model, position) => ({ organizationId, tier, position, ...model })),
        );
      }
      await this.recordChange(manager, organizationId, changes, actor);
      return [];
    });
  }

  private async recordChange(
    manager: EntityManager,
    organizationId: string,
    changes: TierChanges,
    actor: EventActor,
  ): Promise<void> {
    const set = Object.entries(changes).map(([tier, models]) => [tier, { to: toTarget(models) }]);
    if (set.length === 0) return;
    const target = { type: 'tiers', id: null, name: null } as const;
    const event = { event: 'provider.tiers_set', actor, target, changes: Object.fromEntries(set) } as const;
    await this.events.record(organizationId, event, manager);
  }
}

/**
 * Those of the providers that the organization does not have. The others cannot be deleted before the transaction ends.
 */
async function unknownProviders(
  manager: EntityManager,
  organizationId: string,
  named: readonly string[],
): Promise<string[]> {
  if (named.length === 0) return [];
  const rows: { id: string }[] = await manager.query(
    `SELECT id FROM ai_providers WHERE organization_id = $1 AND id = ANY($2) ORDER BY id FOR KEY SHARE`,
    [organizationId, named],
  );
  const known = new Set(rows.map(({ id }) => id));
  return named.filter((id) => !known.has(id));
}
