import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Accounts with an e-mail address, memberships with an id, invitations, and keys that belong to a person or to the organization. */
export class People1763700000600 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(USERS);
    await queryRunner.query(MEMBERS);
    await queryRunner.query(KEYS);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE invitations');
    await queryRunner.query('ALTER TABLE organizations DROP COLUMN run_access');
    await queryRunner.query('ALTER TABLE members DROP COLUMN id, DROP COLUMN updated_at');
    await queryRunner.query(`
      ALTER TABLE users DROP COLUMN email, DROP COLUMN email_verified_at, DROP COLUMN password_hash`);
    // Rows without a user cannot exist in the earlier schema.
    await queryRunner.query(`
      DELETE FROM api_keys WHERE user_id IS NULL;
      UPDATE threads SET created_by = virtual_mcp_id WHERE created_by IS NULL;
      ALTER TABLE api_keys ALTER COLUMN user_id SET NOT NULL;
      ALTER TABLE threads ALTER COLUMN created_by SET NOT NULL`);
  }
}

// The users of earlier versions have no address and cannot sign in.
const USERS = `
  ALTER TABLE users
    ADD COLUMN email varchar(254),
    ADD COLUMN email_verified_at timestamptz(3),
    ADD COLUMN password_hash varchar(256);
  CREATE UNIQUE INDEX users_email_idx ON users (lower(email));
`;

const MEMBERS = `
  ALTER TABLE organizations
    ADD COLUMN run_access varchar(16) NOT NULL DEFAULT 'members' CHECK (run_access IN ('members', 'granted'));
  ALTER TABLE members
    ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
    ADD COLUMN updated_at timestamptz(3) NOT NULL DEFAULT now();
  CREATE INDEX members_user_idx ON members (user_id);
  CREATE TABLE invitations (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    email varchar(254) NOT NULL,
    role varchar(64) NOT NULL,
    token_hash char(64) NOT NULL UNIQUE,
    expires_at timestamptz(3) NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now()
  );
  CREATE UNIQUE INDEX invitations_email_idx ON invitations (organization_id, lower(email));
`;

// Keys from before people existed belong to the organization.
const KEYS = `
  ALTER TABLE api_keys ALTER COLUMN user_id DROP NOT NULL;
  ALTER TABLE threads ALTER COLUMN created_by DROP NOT NULL;
  UPDATE api_keys SET user_id = NULL;
  DELETE FROM users WHERE email IS NULL;
`;
