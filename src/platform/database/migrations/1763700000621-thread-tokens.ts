import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Browser tokens: credentials for one thread (`src/runtime/thread-tokens/`). */
export class ThreadTokens1763700000621 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(TABLE);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE thread_tokens');
  }
}

// A token lives an hour at most. The indexes are for the deletion of expired tokens, threads, keys and users.
const TABLE = `
  CREATE TABLE thread_tokens (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL,
    thread_id varchar(128) COLLATE "C" NOT NULL,
    token_hash char(64) NOT NULL UNIQUE,
    permissions jsonb NOT NULL,
    maker_kind varchar(16) NOT NULL,
    maker_id varchar(512) NOT NULL,
    caller_id varchar(2304) NOT NULL,
    user_id uuid REFERENCES users ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_keys ON DELETE CASCADE,
    grant_id uuid,
    client_id varchar(2048),
    resource varchar(2048),
    scopes jsonb,
    expires_at timestamptz(3) NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    FOREIGN KEY (organization_id, thread_id) REFERENCES threads (organization_id, id) ON DELETE CASCADE
  );
  CREATE INDEX thread_tokens_expires_idx ON thread_tokens (expires_at);
  CREATE INDEX thread_tokens_thread_idx ON thread_tokens (organization_id, thread_id);
  CREATE INDEX thread_tokens_key_idx ON thread_tokens (api_key_id);
  CREATE INDEX thread_tokens_user_idx ON thread_tokens (user_id);
`;
