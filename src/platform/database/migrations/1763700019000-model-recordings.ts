import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What was sent to models and answered, for organizations that record it. */
export class ModelRecordings1763700019000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE organizations ADD COLUMN model_recording character varying(16) NOT NULL DEFAULT 'off'
        CONSTRAINT organizations_model_recording_check CHECK (model_recording IN ('off', 'redacted', 'full'));

      CREATE TABLE model_recordings (
        id uuid PRIMARY KEY,
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        organization_id uuid NOT NULL,
        attempt integer NOT NULL,
        ordinal integer NOT NULL,
        content text NOT NULL,
        created_at timestamp(3) with time zone NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX model_recordings_call_idx ON model_recordings (run_id, attempt, ordinal);
      CREATE INDEX model_recordings_created_idx ON model_recordings (organization_id, created_at);
      -- Envelopes cannot be compressed.
      ALTER TABLE model_recordings ALTER COLUMN content SET STORAGE EXTERNAL`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TABLE model_recordings;
      ALTER TABLE organizations DROP COLUMN model_recording`);
  }
}
