import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Keys that were made with an OAuth token: they end with its grant, and reach no further than the token. */
export class KeysOfGrants1763700000603 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE api_keys
        ADD COLUMN grant_id uuid REFERENCES oauth_grants ON DELETE CASCADE,
        ADD COLUMN resource varchar(2048),
        ADD COLUMN scope varchar(256);
      CREATE INDEX api_keys_grant_idx ON api_keys (grant_id) WHERE grant_id IS NOT NULL`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE api_keys DROP COLUMN grant_id, DROP COLUMN resource, DROP COLUMN scope');
  }
}
