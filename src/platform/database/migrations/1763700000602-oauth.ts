import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The state of the authorization server, so that any process can answer any step. Values that open something (tokens, codes,
 * sessions) are stored as the id that is derived from them, and what they stand for as a vault envelope.
 */
export class Oauth1763700000602 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE oauth_grants (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL,
        user_id uuid NOT NULL,
        client_id varchar(2048) NOT NULL,
        client_name varchar(256) NOT NULL,
        resource varchar(2048) NOT NULL,
        scope varchar(256) NOT NULL,
        is_remembered boolean NOT NULL,
        last_used_at timestamptz(3),
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
      );
      CREATE INDEX oauth_grants_member_idx ON oauth_grants (organization_id, user_id);
      CREATE INDEX oauth_grants_client_idx ON oauth_grants (user_id, client_id);
      CREATE TABLE oauth_records (
        id uuid PRIMARY KEY,
        model varchar(32) NOT NULL,
        payload text NOT NULL,
        grant_id uuid,
        uid_id uuid,
        client_id varchar(2048),
        source varchar(64),
        scope varchar(256),
        expires_at timestamptz(3),
        consumed_at timestamptz(3),
        created_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE INDEX oauth_records_grant_idx ON oauth_records (grant_id) WHERE grant_id IS NOT NULL;
      CREATE INDEX oauth_records_uid_idx ON oauth_records (uid_id) WHERE uid_id IS NOT NULL;
      CREATE INDEX oauth_records_expiry_idx ON oauth_records (expires_at) WHERE expires_at IS NOT NULL;
      CREATE INDEX oauth_records_source_idx ON oauth_records (source, created_at) WHERE source IS NOT NULL;
      CREATE TABLE oauth_clients (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
        client_id varchar(64) NOT NULL UNIQUE,
        name varchar(128) NOT NULL,
        redirect_uris jsonb NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE INDEX oauth_clients_organization_idx ON oauth_clients (organization_id, created_at);
      CREATE TABLE oauth_signing_keys (
        id uuid PRIMARY KEY,
        jwk text NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE oauth_signing_keys, oauth_clients, oauth_records, oauth_grants');
  }
}
