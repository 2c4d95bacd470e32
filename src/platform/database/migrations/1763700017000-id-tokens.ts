import type { MigrationInterface, QueryRunner } from 'typeorm';

/** ID tokens of people, and connections that act with them. */
export class IdTokens1763700017000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE id_tokens (
        id uuid PRIMARY KEY,
        session_id uuid NOT NULL UNIQUE REFERENCES browser_sessions ON DELETE CASCADE,
        issuer character varying(2048) NOT NULL,
        tokens text NOT NULL,
        expires_at timestamp(3) with time zone NOT NULL,
        is_refreshable boolean NOT NULL,
        refresh_lease_until timestamp(3) with time zone,
        created_at timestamp(3) with time zone NOT NULL DEFAULT now()
      );

      ALTER TABLE upstream_authorizations ADD COLUMN id_token_id uuid REFERENCES id_tokens ON DELETE CASCADE;
      CREATE INDEX upstream_authorizations_id_token_idx ON upstream_authorizations (id_token_id)
        WHERE id_token_id IS NOT NULL;

      CREATE INDEX connections_enterprise_idx ON connections (organization_id) WHERE oauth ->> 'isEnterprise' = 'true'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DELETE FROM upstream_authorizations WHERE id_token_id IS NOT NULL;
      UPDATE connections SET oauth = oauth - 'isEnterprise', status = 'inactive' WHERE oauth ->> 'isEnterprise' = 'true';
      DROP INDEX connections_enterprise_idx;
      ALTER TABLE upstream_authorizations DROP COLUMN id_token_id;
      DROP TABLE id_tokens`);
  }
}
