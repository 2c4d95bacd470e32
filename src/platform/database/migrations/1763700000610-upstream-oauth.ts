import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Connections whose upstream demands OAuth: their settings, the tokens of their accounts, our clients, and log-ins in progress. */
export class UpstreamOauth1763700000610 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE connections
        ADD COLUMN oauth jsonb,
        ADD COLUMN oauth_client_secret text,
        ADD CONSTRAINT connections_oauth_check CHECK (oauth IS NOT NULL OR oauth_client_secret IS NULL)`);
    await queryRunner.query(AUTHORIZATIONS);
    await queryRunner.query(CLIENTS);
    await queryRunner.query(LOG_INS);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TABLE upstream_log_ins, upstream_clients, upstream_authorizations;
      ALTER TABLE connections DROP CONSTRAINT connections_oauth_check, DROP COLUMN oauth, DROP COLUMN oauth_client_secret`);
  }
}

// Without a user, the account belongs to the connection. A person who leaves the organization takes the own account along.
const AUTHORIZATIONS = `
  CREATE TABLE upstream_authorizations (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    connection_id uuid NOT NULL,
    user_id uuid,
    connection_url varchar(2048) NOT NULL,
    tokens text NOT NULL,
    refresh_at timestamptz(3),
    expires_at timestamptz(3),
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now(),
    UNIQUE NULLS NOT DISTINCT (connection_id, user_id),
    FOREIGN KEY (organization_id, connection_id) REFERENCES connections (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
  );
`;

const CLIENTS = `
  CREATE TABLE upstream_clients (
    id uuid PRIMARY KEY,
    connection_id uuid NOT NULL REFERENCES connections ON DELETE CASCADE,
    issuer varchar(2048) NOT NULL,
    redirect_uri varchar(2048) NOT NULL,
    client text NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    UNIQUE (connection_id, issuer, redirect_uri)
  );
`;

const LOG_INS = `
  CREATE TABLE upstream_log_ins (
    id uuid PRIMARY KEY,
    state_hash char(64) NOT NULL UNIQUE,
    session_hash char(64) NOT NULL,
    connection_id uuid NOT NULL REFERENCES connections ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    details text NOT NULL,
    expires_at timestamptz(3) NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now()
  );
  CREATE INDEX upstream_log_ins_expires_idx ON upstream_log_ins (expires_at);
`;
