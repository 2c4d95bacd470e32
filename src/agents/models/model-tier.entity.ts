import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import type { Tier } from '../../core/tier.js';
import type { ModelPrice } from './model-price.js';

/** Which model serves a tier of an organization. A tier without a row is not set. */
@Entity('model_tiers')
@Check('model_tiers_tier_check', "tier IN ('fast', 'smart', 'thinking')")
export class ModelTierEntity {
  @PrimaryColumn({ type: 'uuid', name: 'organization_id' })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @PrimaryColumn({ type: 'varchar', length: 16 })
  tier: Tier;

  @Column({ type: 'uuid', name: 'provider_id' })
  @ForeignKey('ai_providers', { onDelete: 'CASCADE' })
  providerId: string;

  /** The provider's name for the model. */
  @Column({ type: 'varchar', length: 256 })
  model: string;

  /** Null if nobody has set one: runs of the tier then have no cost. */
  @Column({ type: 'jsonb', nullable: true })
  price: ModelPrice | null;
}
