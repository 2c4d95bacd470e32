import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Limits on the history that the runs of an agent read. */
export class AgentHistory1763700000640 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE agents
        ADD COLUMN history_max_messages integer NOT NULL DEFAULT 200,
        ADD COLUMN history_max_tokens integer NOT NULL DEFAULT 100000
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE agents DROP COLUMN history_max_messages, DROP COLUMN history_max_tokens');
  }
}
