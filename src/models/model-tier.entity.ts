import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Tier } from './tier.js';

/** Which model serves a tier of an organization. No row: the tier is not set. */
@Entity('model_tiers')
export class ModelTierEntity {
  @PrimaryColumn({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @PrimaryColumn({ type: 'varchar', length: 16 })
  tier: Tier;

  @Column({ type: 'uuid', name: 'provider_id' })
  providerId: string;

  /** The model's name as the provider knows it. */
  @Column({ type: 'varchar', length: 256 })
  model: string;
}
