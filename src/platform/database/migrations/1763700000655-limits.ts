import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Limits of organizations, API keys and connections, the counts of their windows, and how long threads and runs are kept. */
export class Limits1763700000655 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE organizations
        ADD COLUMN limits jsonb NOT NULL DEFAULT '{}',
        ADD COLUMN retention jsonb NOT NULL DEFAULT '{}';
      ALTER TABLE api_keys ADD COLUMN rate_limit jsonb;
      ALTER TABLE connections ADD COLUMN rate_limit jsonb;
      ${RATE_LIMITS}`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TABLE rate_limits;
      ALTER TABLE connections DROP COLUMN rate_limit;
      ALTER TABLE api_keys DROP COLUMN rate_limit;
      ALTER TABLE organizations DROP COLUMN limits, DROP COLUMN retention`);
  }
}

// The layout of rate-limiter-flexible. Unlogged: a crash of the database may begin new windows, and no count waits for the disk.
const RATE_LIMITS = `
  CREATE UNLOGGED TABLE rate_limits (
    key varchar(255) PRIMARY KEY,
    points integer NOT NULL DEFAULT 0,
    expire bigint
  );
  CREATE INDEX rate_limits_expire_idx ON rate_limits (expire)`;
