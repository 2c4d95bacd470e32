import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How an agent offers its tools: all of them, or a search. */
export class ToolSearch1763700008000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE agents
        ADD COLUMN tool_mode varchar(8) NOT NULL DEFAULT 'all',
        ADD COLUMN pinned_tools jsonb NOT NULL DEFAULT '[]'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE agents DROP COLUMN tool_mode, DROP COLUMN pinned_tools');
  }
}
