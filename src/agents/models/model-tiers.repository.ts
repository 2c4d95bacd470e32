import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { EventActor } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { PreparedStatements } from '../../platform/database/prepared-statements.js';
import type { ModelPrice } from './model-price.js';
import { ModelTierEntity } from './model-tier.entity.js';
import type { StoredProvider } from './provider-models.js';
import { DEFAULT_TIER, type Tier, TIERS } from '../../core/tier.js';

/** The new value of each named tier: a model at a provider with its price, or null to clear the tier. */
export type TierChanges = Partial<Record<Tier, Pick<ModelTierEntity, 'providerId' | 'model' | 'price'> | null>>;

/** The model that serves a tier, and its provider. */
interface ServingModel {
  provider: StoredProvider;
  model: string;
  price: ModelPrice | null;
}

const SERVING_MODEL = {
  name: 'model_tiers_serving',
  text: `
    SELECT p.id, p.kind, p.base_url AS "baseUrl", p.api_key AS "apiKey", p.options, p.secrets,
           t.model, t.price
      FROM model_tiers t JOIN ai_providers p ON p.id = t.provider_id AND p.organization_id = t.organization_id
     WHERE t.organization_id = $1 AND t.tier = ANY($2)
     ORDER BY t.tier = $3 DESC LIMIT 1`,
};

@Injectable()
export class ModelTiersRepository {
  constructor(
    @InjectRepository(ModelTierEntity) private readonly tiers: Repository<ModelTierEntity>,
    private readonly events: AuditEvents,
    private readonly statements: PreparedStatements,
  ) {}

  findAllOfOrganization(organizationId: string): Promise<ModelTierEntity[]> {
    return this.tiers.findBy({ organizationId });
  }

  /** The model of this tier, or of the default tier if this one is not set. */
  async findServing(organizationId: string, tier: Tier): Promise<ServingModel | undefined> {
    const values = [organizationId, [tier, DEFAULT_TIER], tier];
    const [row] = await this.statements.rowsByKey<StoredProvider & Omit<ServingModel, 'provider'>>(
      SERVING_MODEL,
      values,
    );
    if (row === undefined) return undefined;
    const { model, price, ...provider } = row;
    return { provider, model, price };
  }

  /**
   * Applies all changes, or none if a tier names a provider outside the organization.
   * @returns the tiers whose provider is unknown; empty when the changes were made
   */
  change(organizationId: string, changes: TierChanges, actor: EventActor): Promise<Tier[]> {
    return this.tiers.manager.transaction(async (manager) => {
      const known = await holdProviders(manager, organizationId, changes);
      const unknown = TIERS.filter((tier) => {
        const target = changes[tier];
        return target !== undefined && target !== null && !known.has(target.providerId);
      });
      if (unknown.length > 0) return unknown;
      // Always in the order of TIERS, so that two callers that lock the rows cannot deadlock.
      for (const tier of TIERS) {
        const target = changes[tier];
        if (target === undefined) continue;
        if (target === null) await manager.delete(ModelTierEntity, { organizationId, tier });
        else await manager.upsert(ModelTierEntity, { organizationId, tier, ...target }, ['organizationId', 'tier']);
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
    const set = Object.entries(changes).map(([tier, target]) => [
      tier,
      {
        to: target && {
          provider_id: target.providerId,
          model: target.model,
          ...(target.price && { price: target.price }),
        },
      },
    ]);
    if (set.length === 0) return;
    const target = { type: 'tiers', id: null, name: null } as const;
    const event = { event: 'provider.tiers_set', actor, target, changes: Object.fromEntries(set) } as const;
    await this.events.record(organizationId, event, manager);
  }
}

/** The named providers that the organization has. They cannot be deleted before the transaction ends. */
async function holdProviders(
  manager: EntityManager,
  organizationId: string,
  changes: TierChanges,
): Promise<ReadonlySet<string>> {
  const ids = Object.values(changes).flatMap((target) => (target === null ? [] : [target.providerId]));
  if (ids.length === 0) return new Set();
  const rows: { id: string }[] = await manager.query(
    `SELECT id FROM ai_providers WHERE organization_id = $1 AND id = ANY($2) ORDER BY id FOR KEY SHARE`,
    [organizationId, ids],
  );
  return new Set(rows.map((row) => row.id));
}
