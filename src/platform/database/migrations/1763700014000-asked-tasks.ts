import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Runs that clients of MCP 2025-11-25 have started as tasks. */
export class AskedTasks1763700014000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE asked_tasks (
        run_id uuid PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
        agent_id uuid NOT NULL,
        owner text NOT NULL,
        handle text NOT NULL
      )`);
    await queryRunner.query('CREATE INDEX asked_tasks_owner_idx ON asked_tasks (agent_id, owner, run_id)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE asked_tasks');
  }
}
