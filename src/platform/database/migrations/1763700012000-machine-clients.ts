import type { MigrationInterface, QueryRunner } from 'typeorm';

/** OAuth clients that act for themselves, each with an API key, or that present identity assertions. */
export class MachineClients1763700012000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE oauth_clients
        ADD COLUMN grant_types jsonb NOT NULL DEFAULT '["authorization_code", "refresh_token"]',
        ADD COLUMN auth character varying(8) NOT NULL DEFAULT 'none',
        ADD COLUMN api_key_id uuid REFERENCES api_keys ON DELETE CASCADE;
      CREATE INDEX oauth_clients_key_idx ON oauth_clients (api_key_id) WHERE api_key_id IS NOT NULL;

      ALTER TABLE oauth_records ADD COLUMN resource character varying(2048)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DELETE FROM oauth_clients WHERE grant_types <> '["authorization_code", "refresh_token"]';
      ALTER TABLE oauth_records DROP COLUMN resource;
      ALTER TABLE oauth_clients DROP COLUMN api_key_id, DROP COLUMN auth, DROP COLUMN grant_types`);
  }
}
