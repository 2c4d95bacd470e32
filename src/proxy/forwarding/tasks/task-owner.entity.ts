import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** The owner of an MCP server's task, and the tool that created it. */
@Entity('mcp_tasks')
@Index('mcp_tasks_expiry_idx', ['expiresAt'])
export class TaskOwnerEntity {
  @PrimaryColumn({ type: 'uuid', name: 'connection_id' })
  @ForeignKey('connections', { onDelete: 'CASCADE' })
  connectionId: string;

  /** The principal, as text. */
  @PrimaryColumn('text')
  owner: string;

  /** SHA-256 of the server's task id, which can have any length. */
  @PrimaryColumn({ type: 'varchar', length: 64 })
  digest: string;

  @Column({ type: 'text', name: 'tool_name' })
  toolName: string;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt: Date;
}
