import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** A definition of a tool that a pinned connection has listed, approved or not. */
@Entity('pinned_tools')
@ForeignKey('connections', ['organizationId', 'connectionId'], ['organizationId', 'id'], { onDelete: 'CASCADE' })
export class PinnedToolEntity {
  @PrimaryColumn({ type: 'uuid', name: 'connection_id' })
  connectionId: string;

  /** SHA-256 in hexadecimal, of the canonical JSON. */
  @PrimaryColumn({ type: 'varchar', length: 64 })
  fingerprint: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  /** The fingerprint without the names. */
  @Column({ type: 'varchar', name: 'nameless_fingerprint', length: 64 })
  namelessFingerprint: string;

  /** JSON text: a name can contain what `text` refuses. */
  @Column({ type: 'text', name: 'tool_name' })
  toolName: string;

  /** As the upstream sent it. `json` keeps escapes that `jsonb` refuses. */
  @Column('json')
  definition: object;

  /** Of the definition and the name, in bytes of JSON text. */
  @Column('integer')
  size: number;

  /** For a definition that is not approved: the last list that showed a tool of this name showed this one. */
  @Column({ type: 'boolean', name: 'is_listed' })
  isListed: boolean;

  @Column({ type: 'timestamptz', name: 'listed_at', precision: 3, default: () => 'now()' })
  listedAt: Date;

  @Column({ type: 'timestamptz', name: 'approved_at', precision: 3, nullable: true })
  approvedAt: Date | null;
}
