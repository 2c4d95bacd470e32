import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** Stored files, their bytes, and the messages that name them. */
export class Files1763700001000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE file_contents (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
        sha256 character varying(64),
        size bigint NOT NULL DEFAULT 0,
        created_at timestamp(3) with time zone NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX file_contents_digest_idx ON file_contents (organization_id, sha256);
      CREATE INDEX file_contents_unused_idx ON file_contents (created_at) WHERE sha256 IS NULL;

      CREATE TABLE file_chunks (
        content_id uuid NOT NULL REFERENCES file_contents ON DELETE CASCADE,
        n integer NOT NULL,
        bytes bytea NOT NULL,
        PRIMARY KEY (content_id, n)
      );
      -- Images and PDFs are compressed already.
      ALTER TABLE file_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;

      CREATE TABLE files (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
        content_id uuid REFERENCES file_contents,
        sha256 character varying(64) NOT NULL,
        size bigint NOT NULL,
        media_type character varying(255) NOT NULL,
        filename character varying(255),
        credential_id character varying(2304) NOT NULL,
        created_at timestamp(3) with time zone NOT NULL DEFAULT now(),
        UNIQUE (organization_id, id)
      );
      CREATE INDEX files_organization_idx ON files (organization_id, created_at);
      CREATE INDEX files_content_idx ON files (content_id);
      CREATE INDEX files_created_idx ON files (created_at);

      CREATE TABLE message_files (
        organization_id uuid NOT NULL,
        thread_id character varying(128) COLLATE "C" NOT NULL,
        message_id character varying(128) COLLATE "C" NOT NULL,
        file_id uuid NOT NULL,
        PRIMARY KEY (organization_id, thread_id, message_id, file_id),
        FOREIGN KEY (organization_id, thread_id, message_id) REFERENCES messages ON DELETE CASCADE,
        FOREIGN KEY (organization_id, file_id) REFERENCES files (organization_id, id)
      );
      CREATE INDEX message_files_file_idx ON message_files (file_id)`);
    await createFunction(queryRunner, 'message_name_files');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TRIGGER messages_name_files ON messages;
      DROP FUNCTION message_name_files;
      DROP TABLE message_files, files, file_chunks, file_contents`);
  }
}
