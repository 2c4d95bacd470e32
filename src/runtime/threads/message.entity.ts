import type { UIMessage } from 'ai';
import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import { BIGINT_AS_NUMBER } from '../../platform/database/bigint-as-number.js';

type MessageRole = 'system' | 'user' | 'assistant';

/** The ordinal of an answer: after every message of the request that it answers. */
export const ANSWER_ORDINAL = 2_147_483_647;

/** The ordinals of messages that steered a run are greater than this one, and those of its request are not. */
export const LAST_REQUEST_ORDINAL = 1_000_000;

/** What a message counts beyond its parts and metadata. */
export const MESSAGE_OVERHEAD_BYTES = 256;

/** SQL for the bytes of a message; measures messages that are older than the column. */
export const MESSAGE_BYTES =
  `${MESSAGE_OVERHEAD_BYTES} + coalesce(message.bytes, octet_length(CAST(message.parts AS text)) + ` +
  'octet_length(CAST(message.metadata AS text)))';

/** One message of the transcript. Its run, which received or wrote it, determines its place in the thread. */
@Entity('messages')
@ForeignKey('threads', ['organizationId', 'threadId'], ['organizationId', 'id'], { onDelete: 'CASCADE' })
@Index('messages_thread_idx', ['organizationId', 'threadId', 'runPosition', 'ordinal'])
// A GIN index of the words of texts, see `message_words`.
@Index('messages_words_idx', { synchronize: false })
@Check('messages_role_check', "role IN ('system', 'user', 'assistant')")
export class MessageEntity {
  @PrimaryColumn({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @PrimaryColumn({ type: 'varchar', name: 'thread_id', length: 128, collation: 'C' })
  threadId: string;

  @PrimaryColumn({ type: 'varchar', length: 128, collation: 'C' })
  id: string;

  @Column({ type: 'uuid', name: 'run_id' })
  runId: string;

  @Column({ type: 'bigint', name: 'run_position', transformer: BIGINT_AS_NUMBER })
  runPosition: number;

  @Column({ type: 'int', name: 'ordinal' })
  ordinal: number;

  @Column({ type: 'varchar', length: 16 })
  role: MessageRole;

  @Column('json')
  parts: UIMessage['parts'];

  @Column({ type: 'json', default: {} })
  metadata: Record<string, unknown>;

  /** The run whose answer took the place of this message. */
  @Column({ type: 'uuid', name: 'superseded_by', nullable: true })
  supersededBy: string | null;

  /**
   * Size of parts and metadata as JSON text. Written by the database; null for a message that is older than the column.
   */
  @Column({ type: 'int', nullable: true, insert: false, update: false, select: false })
  bytes: number | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
