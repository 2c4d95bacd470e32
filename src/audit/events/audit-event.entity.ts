import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import type { AuditEventName, EventTargetType } from './audit-event.js';

/** An event of an organization. It never changes. */
@Entity('audit_events')
export class AuditEventEntity {
  @PrimaryColumn({ type: 'uuid', name: 'organization_id' })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @PrimaryColumn({ type: 'timestamptz', precision: 3 })
  at: Date;

  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'varchar', length: 64, collation: 'C' })
  event: AuditEventName;

  @Column({ type: 'uuid', name: 'user_id', nullable: true })
  userId: string | null;

  @Column({ type: 'uuid', name: 'api_key_id', nullable: true })
  apiKeyId: string | null;

  @Column({ type: 'varchar', name: 'client_id', length: 2048, nullable: true })
  clientId: string | null;

  /** The network address of the caller. */
  @Column({ type: 'varchar', length: 64, nullable: true })
  source: string | null;

  @Column({ type: 'varchar', name: 'target_type', length: 32, nullable: true })
  targetType: EventTargetType | null;

  @Column({ type: 'varchar', name: 'target_id', length: 2048, nullable: true })
  targetId: string | null;

  @Column({ type: 'varchar', name: 'target_name', length: 256, nullable: true })
  targetName: string | null;

  /** Redacted by `contentJson`. */
  @Column({ type: 'jsonb', nullable: true })
  changes: object | null;
}
