import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The record of events (`src/audit/events/`) and the names of what was deleted (`src/core/names/`). */
export class AuditEvents1763700000620 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(EVENTS);
    await queryRunner.query(NAMES);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TRIGGER api_keys_keep_name ON api_keys;
      DROP TRIGGER connections_keep_name ON connections;
      DROP TRIGGER users_keep_name ON users;
      DROP FUNCTION keep_name;
      DROP TABLE deleted_names;
      DROP TABLE audit_events`);
  }
}

// Without foreign keys to what the events name: events outlive it.
const EVENTS = `
  CREATE TABLE audit_events (
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    at timestamptz(3) NOT NULL,
    id uuid NOT NULL,
    event varchar(64) COLLATE "C" NOT NULL,
    user_id uuid,
    api_key_id uuid,
    client_id varchar(2048),
    source varchar(64),
    target_type varchar(32),
    target_id varchar(2048),
    target_name varchar(256),
    changes jsonb,
    PRIMARY KEY (organization_id, at, id)
  );
`;

// The names of existing rows are read from their tables, so that only deletions cost something.
const NAMES = `
  CREATE TABLE deleted_names (
    id uuid PRIMARY KEY,
    name varchar(256) NOT NULL,
    deleted_at timestamptz(3) NOT NULL DEFAULT now()
  );
  CREATE INDEX deleted_names_deleted_idx ON deleted_names (deleted_at);
  CREATE FUNCTION keep_name() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO deleted_names (id, name)
        SELECT OLD.id, to_jsonb(OLD) ->> TG_ARGV[0] WHERE to_jsonb(OLD) ->> TG_ARGV[0] IS NOT NULL
        ON CONFLICT (id) DO NOTHING;
      RETURN NULL;
    END
  $$;
  CREATE TRIGGER api_keys_keep_name AFTER DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION keep_name('name');
  CREATE TRIGGER connections_keep_name AFTER DELETE ON connections FOR EACH ROW EXECUTE FUNCTION keep_name('title');
  CREATE TRIGGER users_keep_name AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION keep_name('email');
`;
