import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Invitations and links that set passwords end with the API key or the OAuth grant that made them. */
export class LinkMakers1763700019310 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    // In the order of those who revoke a grant meanwhile, which deletes its keys.
    await queryRunner.query('LOCK TABLE oauth_grants, api_keys IN SHARE ROW EXCLUSIVE MODE');
    for (const table of ['invitations', 'password_links']) {
      await queryRunner.query(`
        ALTER TABLE ${table}
          ADD COLUMN maker_key_id uuid REFERENCES api_keys ON DELETE CASCADE,
          ADD COLUMN grant_id uuid REFERENCES oauth_grants ON DELETE CASCADE;
        CREATE INDEX ${table}_maker_key_idx ON ${table} (maker_key_id) WHERE maker_key_id IS NOT NULL;
        CREATE INDEX ${table}_grant_idx ON ${table} (grant_id) WHERE grant_id IS NOT NULL`);
    }
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE invitations DROP COLUMN maker_key_id, DROP COLUMN grant_id;
      ALTER TABLE password_links DROP COLUMN maker_key_id, DROP COLUMN grant_id`);
  }
}
