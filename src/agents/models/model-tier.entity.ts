import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { Tier } from '../../core/tier.js';
import type { ModelPrice } from './model-price.js';

/** A model that serves a tier of an organization. A tier without a row is not set. */
@Entity('model_tiers')
@Index('model_tiers_provider_idx', ['providerId'])
@Check('model_tiers_tier_check', "tier IN ('fast', 'smart', 'thinking')")
export class ModelTierEntity {
  @PrimaryColumn({ type: 'uuid', name: 'organization_id' })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @PrimaryColumn({ type: 'varchar', length: 16 })
  tier: Tier;

  /** The order in which the models of a tier are tried, without regard to gaps. */
  @PrimaryColumn({ type: 'smallint', default: 0 })
  position: number;

  @Column({ type: 'uuid', name: 'provider_id' })
  @ForeignKey('ai_providers', { onDelete: 'CASCADE' })
  providerId: string;

  /** The provider's name for the model. */
  @Column({ type: 'varchar', length: 256 })
  model: string;

  /** Null if nobody has set one: runs of the tier then have no cost. */
  @Column({ type: 'jsonb', nullable: true })
  price: ModelPrice | null;

  /** The most tokens that one answer of the model can have; null for the limit of the model itself. */
  @Column({ type: 'integer', name: 'max_output_tokens', nullable: true })
  maxOutputTokens: number | null;

  /** How long the model can take to begin its answer, in seconds; null for the default. */
  @Column({ type: 'integer', name: 'first_chunk_timeout_s', nullable: true })
  firstChunkTimeoutS: number | null;
}

/** A model of a tier, without its place. */
export type TierModelColumns = Omit<ModelTierEntity, 'organizationId' | 'tier' | 'position'>;
