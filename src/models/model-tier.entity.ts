import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import type { Tier } from '../common/tier.js';

/** Which model serves a tier of an organization. No row: the tier is not set. */
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

  /** The model's name as the provider knows it. */
  @Column({ type: 'varchar', length: 256 })
  model: string;
}
