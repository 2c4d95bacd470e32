import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** Versions of agents, and how many tools a connection has. Processes of the version before write no versions. */
export class AgentVersions1763700019200 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE agent_versions (
        agent_id uuid NOT NULL REFERENCES agents ON DELETE CASCADE,
        number integer NOT NULL,
        content json NOT NULL,
        user_id uuid,
        api_key_id uuid,
        restored_from integer,
        created_at timestamp(3) with time zone NOT NULL DEFAULT now(),
        PRIMARY KEY (agent_id, number)
      );
      ALTER TABLE connections ADD COLUMN tool_count integer;
      UPDATE connections SET tool_count = json_array_length(tools) WHERE tools IS NOT NULL`);
    await createFunction(queryRunner, 'connection_tool_count');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TRIGGER connections_tool_count ON connections;
      DROP FUNCTION connection_tool_count();
      ALTER TABLE connections DROP COLUMN tool_count;
      DROP TABLE agent_versions`);
  }
}
