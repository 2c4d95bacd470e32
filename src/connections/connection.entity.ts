import {
  Check,
  Column,
  CreateDateColumn,
  Entity,
  ForeignKey,
  Index,
  PrimaryColumn,
  Unique,
  UpdateDateColumn,
} from 'typeorm';
import type { ConnectionRateLimit } from '../core/limits.js';
import {
  type ConnectionStatus,
  type ConnectionType,
  DEFAULT_TIMEOUT_MS,
  type OauthSettings,
  type PinRule,
  type PublicToolsRule,
  type StdioProgram,
} from './connection.js';

@Entity('connections')
@Unique(['organizationId', 'id'])
@Index('connections_organization_idx', ['organizationId', 'createdAt'])
@Index('connections_import_idx', ['organizationId', 'importName'], { unique: true, where: 'import_name IS NOT NULL' })
@Index('connections_enterprise_idx', ['organizationId'], { where: "oauth ->> 'isEnterprise' = 'true'" })
@Index('connections_program_idx', ['organizationId'], { where: "connection_type = 'STDIO'" })
@Check('connections_status_check', "status IN ('active', 'inactive', 'error')")
@Check('connections_public_tools_check', "public_tools IN ('honor', 'ignore')")
@Check('connections_pin_check', "pin IN ('off', 'warn', 'block')")
@Check('connections_oauth_check', 'oauth IS NOT NULL OR oauth_client_secret IS NULL')
@Check('connections_stdio_check', "(connection_type = 'STDIO') = (stdio IS NOT NULL)")
export class ConnectionEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @Column({ type: 'varchar', name: 'connection_type', length: 16, update: false })
  connectionType: ConnectionType;

  @Column({ type: 'varchar', length: 128 })
  title: string;

  /** The name of the connection in the file that it was imported from; null if it was not imported. */
  @Column({ type: 'varchar', name: 'import_name', length: 128, nullable: true, update: false })
  importName: string | null;

  @Column({ type: 'varchar', length: 2000, nullable: true })
  description: string | null;

  @Column({ type: 'varchar', name: 'connection_url', length: 2048, nullable: true })
  connectionUrl: string | null;

  /** Sealed by the vault. */
  @Column({ type: 'text', name: 'connection_token', nullable: true })
  connectionToken: string | null;

  /** One vault envelope of the JSON object of all headers. */
  @Column({ type: 'text', name: 'connection_headers', nullable: true })
  connectionHeaders: string | null;

  /** The names in plain text, so that a read needs no decryption. */
  @Column({ type: 'jsonb', name: 'connection_header_names', default: [] })
  connectionHeaderNames: string[];

  /** Set for an upstream that is called with OAuth tokens. */
  @Column({ type: 'jsonb', nullable: true })
  oauth: OauthSettings | null;

  /** Sealed by the vault. */
  @Column({ type: 'text', name: 'oauth_client_secret', nullable: true })
  oauthClientSecret: string | null;

  @Column({ type: 'jsonb', nullable: true })
  stdio: StdioProgram | null;

  /** One vault envelope of the JSON object of all environment variables. */
  @Column({ type: 'text', name: 'stdio_env', nullable: true })
  stdioEnv: string | null;

  @Column({ type: 'jsonb', name: 'stdio_env_names', default: [] })
  stdioEnvNames: string[];

  @Column('integer', { default: DEFAULT_TIMEOUT_MS })
  timeout: number;

  @Column({ type: 'varchar', length: 16, default: 'active' })
  status: ConnectionStatus;

  @Column({ type: 'varchar', name: 'status_reason', length: 1000, nullable: true })
  statusReason: string | null;

  /** Written by a trigger. Null while the status is from before it was. */
  @Column({
    type: 'timestamptz',
    name: 'status_since',
    precision: 3,
    nullable: true,
    default: () => 'now()',
    update: false,
  })
  statusSince: Date | null;

  @Column({ type: 'varchar', name: 'public_tools', length: 16, default: 'honor' })
  publicTools: PublicToolsRule;

  /** Of its tool calls; null: no limit. */
  @Column({ type: 'jsonb', name: 'rate_limit', nullable: true })
  rateLimit: ConnectionRateLimit | null;

  /** True if callers share one session with the upstream, although the upstream keeps state in it. */
  @Column({ type: 'boolean', name: 'shared_state', default: false })
  sharedState: boolean;

  @Column({ type: 'varchar', length: 8, default: 'off' })
  pin: PinRule;

  /** Increases with every change of which definitions of its tools are approved. */
  @Column('integer', { name: 'pin_epoch', default: 0 })
  pinEpoch: number;

  /** When the tools were approved with which the pin began; null until then. */
  @Column({ type: 'timestamptz', name: 'pinned_at', precision: 3, nullable: true })
  pinnedAt: Date | null;

  /**
   * The tools as the upstream last listed them. They are large, so only the queries that need them read them. `json`
   * keeps the order of members, and an unchanged list is recognized by its text.
   */
  @Column({ type: 'json', nullable: true, select: false })
  tools: { name: string }[] | null;

  /** Of `tools`, written by a trigger; null while they were never listed. */
  @Column({ type: 'integer', name: 'tool_count', nullable: true, insert: false, update: false })
  toolCount: number | null;

  @Column({ type: 'timestamptz', name: 'tools_refreshed_at', precision: 3, nullable: true })
  toolsRefreshedAt: Date | null;

  @Column('integer', { default: 1 })
  revision: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
