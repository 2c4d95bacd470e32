import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Browser sessions, links to set a password, and the counts of failed sign-ins. */
export class SignIn1763700000605 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(SESSIONS);
    await queryRunner.query(LINKS);
    await queryRunner.query(FAILED_SIGN_INS);
    await queryRunner.query(KEYS_OF_MEMBERS);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE api_keys DROP CONSTRAINT api_keys_organization_id_user_id_fkey;
      DROP INDEX api_keys_member_idx;
      DROP TABLE failed_sign_ins, password_links, browser_sessions, issuer_identities;
      ALTER TABLE invitations DROP COLUMN mailed_hash`);
  }
}

const SESSIONS = `
  CREATE TABLE browser_sessions (
    id uuid PRIMARY KEY,
    secret_hash char(64) NOT NULL UNIQUE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    last_seen_at timestamptz(3) NOT NULL,
    expires_at timestamptz(3) NOT NULL
  );
  CREATE INDEX browser_sessions_user_idx ON browser_sessions (user_id);
  CREATE TABLE issuer_identities (
    issuer varchar(512) NOT NULL,
    subject varchar(255) NOT NULL,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    PRIMARY KEY (issuer, subject)
  );
  CREATE INDEX issuer_identities_user_idx ON issuer_identities (user_id);
`;

// An organization has at most one link to its setup page, a member at most one link to reset the password.
const LINKS = `
  CREATE TABLE password_links (
    token_hash char(64) PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    user_id uuid,
    is_mailed boolean NOT NULL DEFAULT false,
    expires_at timestamptz(3),
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
  );
  CREATE INDEX password_links_member_idx ON password_links (organization_id, user_id);
  ALTER TABLE invitations ADD COLUMN mailed_hash char(64) UNIQUE;
`;

// The layout of rate-limiter-flexible.
const FAILED_SIGN_INS = `
  CREATE TABLE failed_sign_ins (
    key varchar(255) PRIMARY KEY,
    points integer NOT NULL DEFAULT 0,
    expire bigint
  );
  CREATE INDEX failed_sign_ins_expire_idx ON failed_sign_ins (expire);
`;

// The keys of a person end with the membership, in the same statement.
const KEYS_OF_MEMBERS = `
  DELETE FROM api_keys WHERE user_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM members m WHERE m.organization_id = api_keys.organization_id AND m.user_id = api_keys.user_id);
  ALTER TABLE api_keys ADD CONSTRAINT api_keys_organization_id_user_id_fkey
    FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE;
  CREATE INDEX api_keys_member_idx ON api_keys (organization_id, user_id);
`;
