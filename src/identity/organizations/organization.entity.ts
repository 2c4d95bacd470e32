import { Check, Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn, ForeignKey, Unique } from 'typeorm';
import type { OrganizationLimits } from '../../core/limits.js';
import type { PermissionMap } from '../../core/permissions.js';
import type { RunAccess } from '../../core/principal.js';

/** How long the threads and the runs of an organization are kept after their last change, in days. */
export interface Retention {
  readonly threads_days?: number;
  readonly runs_days?: number;
}

@Entity('organizations')
@Check('organizations_run_access_check', "run_access IN ('members', 'granted')")
export class OrganizationEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** Immutable, because it is part of every path. */
  @Column({ type: 'varchar', length: 63, unique: true, update: false })
  slug: string;

  @Column({ type: 'varchar', length: 128 })
  name: string;

  /** The minimum permissions of every member. */
  @Column({ type: 'jsonb', name: 'member_permissions', default: {} })
  memberPermissions: PermissionMap;

  /**
   * Who can run agents and read streams: every valid credential of the organization, or those with a grant on the
   * agent.
   */
  @Column({ type: 'varchar', name: 'run_access', length: 16, default: 'members' })
  runAccess: RunAccess;

  /** Those that are set. */
  @Column({ type: 'jsonb', default: {} })
  limits: OrganizationLimits;

  /** How long threads and runs are kept; an absent member keeps them forever. */
  @Column({ type: 'jsonb', default: {} })
  retention: Retention;

  /** Whether the arguments and results of tool calls are recorded. Read and set by `audit/calls/audit-settings.ts`. */
  @Column({ type: 'boolean', name: 'audit_content', default: false })
  auditContent: boolean;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}

/** A custom role: a permission map with a name. */
@Entity('roles')
@Unique(['organizationId', 'name'])
export class RoleEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @Column({ type: 'varchar', length: 64 })
  name: string;

  @Column('jsonb')
  permissions: PermissionMap;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
