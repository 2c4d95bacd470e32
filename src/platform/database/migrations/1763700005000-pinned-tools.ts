import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** Connections whose tools stay what they were, and the webhook event of those that do not. */
export class PinnedTools1763700005000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE connections
        ADD COLUMN pin character varying(8) NOT NULL DEFAULT 'off',
        ADD COLUMN pin_epoch integer NOT NULL DEFAULT 0,
        ADD COLUMN pinned_at timestamp(3) with time zone,
        ADD CONSTRAINT connections_pin_check CHECK (pin IN ('off', 'warn', 'block'));

      CREATE TABLE pinned_tools (
        connection_id uuid NOT NULL,
        fingerprint character varying(64) NOT NULL,
        organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
        nameless_fingerprint character varying(64) NOT NULL,
        tool_name text NOT NULL,
        definition json NOT NULL,
        size integer NOT NULL,
        is_listed boolean NOT NULL,
        listed_at timestamp(3) with time zone NOT NULL DEFAULT now(),
        approved_at timestamp(3) with time zone,
        PRIMARY KEY (connection_id, fingerprint),
        FOREIGN KEY (organization_id, connection_id) REFERENCES connections (organization_id, id) ON DELETE CASCADE
      )`);
    await createFunction(queryRunner, 'webhook_tools_changed');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TABLE pinned_tools;
      DROP FUNCTION webhook_tools_changed;
      ALTER TABLE connections DROP COLUMN pin, DROP COLUMN pin_epoch, DROP COLUMN pinned_at`);
  }
}
