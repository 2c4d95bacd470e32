import { Check, Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn, ForeignKey, Unique } from 'typeorm';
import type { OrganizationLimits } from '../../core/limits.js';
import type { ModelRecording } from '../../core/model-recording.js';
import type { PermissionMap } from '../../core/permissions.js';
import type { RunAccess } from '../../core/principal.js';

/** How long the data of an organization is kept, in days: threads and runs from their last change. */
export interface Retention {
  readonly threads_days?: number;
  readonly runs_days?: number;
  /** Of what was recorded of model calls; without it, `MODEL_CALLS_KEPT_DAYS`. */
  readonly model_calls_days?: number;
}

@Entity('organizations')
@Check('organizations_run_access_check', "run_access IN ('members', 'granted')")
@Check('organizations_model_recording_check', "model_recording IN ('off', 'redacted', 'full')")
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

  /** How long data is kept; threads and runs without a member are kept forever. */
  @Column({ type: 'jsonb', default: {} })
  retention: Retention;

  /** Whether the arguments and results of tool calls are recorded. Read and set by `audit/calls/audit-settings.ts`. */
  @Column({ type: 'boolean', name: 'audit_content', default: false })
  auditContent: boolean;

  /** What is recorded of model calls. */
  @Column({ type: 'varchar', name: 'model_recording', length: 16, default: 'off' })
  modelRecording: ModelRecording;

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
