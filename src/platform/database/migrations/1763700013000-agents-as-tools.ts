import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Agents whose MCP endpoints have a tool that runs them. */
export class AgentsAsTools1763700013000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE agents ADD COLUMN expose_run boolean NOT NULL DEFAULT false,
        ADD COLUMN ask_timeout_s integer NOT NULL DEFAULT 600`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE agents DROP COLUMN ask_timeout_s, DROP COLUMN expose_run');
  }
}
