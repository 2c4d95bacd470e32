import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { BIGINT_AS_NUMBER } from '../../platform/database/bigint-as-number.js';

/**
 * The bytes of files. An organization has the same bytes once, however many files have them. Without a digest, it is an
 * upload in progress, or it is about to be deleted.
 */
@Entity('file_contents')
@Index('file_contents_digest_idx', ['organizationId', 'sha256'], { unique: true })
@Index('file_contents_unused_idx', ['createdAt'], { where: 'sha256 IS NULL' })
export class FileContentEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  /** In hexadecimal. */
  @Column({ type: 'varchar', length: 64, nullable: true })
  sha256: string | null;

  @Column({ type: 'bigint', default: 0, transformer: BIGINT_AS_NUMBER })
  size: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}

/** A piece of a content, where PostgreSQL stores files. */
@Entity('file_chunks')
export class FileChunkEntity {
  @PrimaryColumn({ type: 'uuid', name: 'content_id' })
  @ForeignKey('file_contents', { onDelete: 'CASCADE' })
  contentId: string;

  @PrimaryColumn({ type: 'int' })
  n: number;

  @Column('bytea')
  bytes: Buffer;
}

/** A file that was uploaded. */
@Entity('files')
@Unique(['organizationId', 'id'])
@Index('files_organization_idx', ['organizationId', 'createdAt'])
@Index('files_content_idx', ['contentId'])
@Index('files_created_idx', ['createdAt'])
export class FileEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  /** Null once the file was deleted although a message names it. */
  @Column({ type: 'uuid', name: 'content_id', nullable: true })
  @ForeignKey('file_contents')
  contentId: string | null;

  @Column({ type: 'varchar', length: 64 })
  sha256: string;

  @Column({ type: 'bigint', transformer: BIGINT_AS_NUMBER })
  size: number;

  @Column({ type: 'varchar', name: 'media_type', length: 255 })
  mediaType: string;

  @Column({ type: 'varchar', length: 255, nullable: true })
  filename: string | null;

  /** The credential that uploaded it, as `Principal` names it. */
  @Column({ type: 'varchar', name: 'credential_id', length: 2304 })
  credentialId: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}

/** A file that a message names. Written by the trigger `messages_name_files`. */
@Entity('message_files')
@ForeignKey('messages', ['organizationId', 'threadId', 'messageId'], ['organizationId', 'threadId', 'id'], {
  onDelete: 'CASCADE',
})
@ForeignKey('files', ['organizationId', 'fileId'], ['organizationId', 'id'])
@Index('message_files_file_idx', ['fileId'])
export class MessageFileEntity {
  @PrimaryColumn({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @PrimaryColumn({ type: 'varchar', name: 'thread_id', length: 128, collation: 'C' })
  threadId: string;

  @PrimaryColumn({ type: 'varchar', name: 'message_id', length: 128, collation: 'C' })
  messageId: string;

  @PrimaryColumn({ type: 'uuid', name: 'file_id' })
  fileId: string;
}
