import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { ShownOptions } from './provider-fields.js';
import type { ProviderKind } from './model-kind.js';

@Entity('ai_providers')
@Index('ai_providers_organization_idx', ['organizationId', 'createdAt'])
export class AiProviderEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @Column({ type: 'varchar', length: 128 })
  title: string;

  @Column({ type: 'varchar', length: 32 })
  kind: ProviderKind;

  /** Canonical and without a trailing slash; null means the default address of the kind. */
  @Column({ type: 'varchar', name: 'base_url', length: 2048, nullable: true })
  baseUrl: string | null;

  /** Sealed by the vault; never the key itself. */
  @Column({ type: 'text', name: 'api_key', nullable: true })
  apiKey: string | null;

  /** The other fields of the kind, as answers show them: secrets masked. */
  @Column({ type: 'jsonb', default: {} })
  options: ShownOptions;

  /** The values behind the masks of `options`: JSON by field, sealed by the vault. */
  @Column({ type: 'text', nullable: true })
  secrets: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
