import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who made which task of an MCP server, by which tool (`src/proxy/tasks/`). */
export class McpTasks1763700000520 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE mcp_tasks (
        connection_id uuid NOT NULL REFERENCES connections ON DELETE CASCADE,
        owner text NOT NULL,
        digest varchar(64) NOT NULL,
        tool_name text NOT NULL,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (connection_id, owner, digest)
      )`);
    await queryRunner.query('CREATE INDEX mcp_tasks_expiry_idx ON mcp_tasks (expires_at)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE mcp_tasks');
  }
}
