import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { PermissionMap } from '../common/permissions.js';

@Entity('organizations')
export class OrganizationEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** Immutable for the lifetime of the organization: it is part of every path. */
  @Column({ type: 'varchar', length: 63, unique: true, update: false })
  slug: string;

  @Column({ type: 'varchar', length: 128 })
  name: string;

  /** What every member holds at least. */
  @Column({ type: 'jsonb', name: 'member_permissions', default: {} })
  memberPermissions: PermissionMap;

  /** Are the arguments and results of tool calls recorded? Read and set by `audit/audit-settings.service.ts`. */
  @Column({ type: 'boolean', name: 'audit_content', default: false })
  auditContent: boolean;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
