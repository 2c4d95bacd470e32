import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The record of tool invocations (`src/audit/calls/`). */
export class Audit1763700000200 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(TABLE);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE audit_records');
  }
}

// A row is written for every tool call, and every call waits for it: hence one index only, and neither foreign keys nor
// checks (records outlive what they name; `src/audit/calls` writes nothing else). The key's order is the order in which records
// are read: an organization's, by time.
const TABLE = `
  CREATE TABLE audit_records (
    organization_id uuid NOT NULL,
    at timestamptz(3) NOT NULL,
    id uuid NOT NULL,
    door varchar(16) NOT NULL,
    connection_id uuid,
    agent_id uuid,
    tool_name varchar(256) COLLATE "C" NOT NULL,
    status varchar(16) NOT NULL,
    error_code varchar(64),
    duration_ms double precision NOT NULL,
    user_id uuid,
    api_key_id uuid,
    run_id uuid,
    request_id varchar(128) NOT NULL,
    public boolean NOT NULL,
    PRIMARY KEY (organization_id, at, id)
  );
`;
