import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Keys that a deleted key has left behind go on using its quota: `api_key_line` names that key in place of theirs. */
export class KeptQuotas1763700000760 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE api_keys ADD quota_key_id uuid');
    await queryRunner.query(lineWith('coalesce(key.quota_key_id, key.id)'));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(lineWith('key.id'));
    await queryRunner.query('ALTER TABLE api_keys DROP COLUMN quota_key_id');
  }
}

/** @param quotaKey whose quota the row `key` uses */
function lineWith(quotaKey: string): string {
  return `
    CREATE OR REPLACE FUNCTION api_key_line(_key uuid, OUT length integer, OUT limits json) LANGUAGE sql STABLE AS $$
      WITH RECURSIVE line AS (
        SELECT key.maker_key_id, ${quotaKey} AS quota_key_id, key.rate_limit, 1 AS place FROM api_keys key WHERE key.id = _key
        UNION ALL
        SELECT key.maker_key_id, ${quotaKey}, key.rate_limit, place + 1 FROM line JOIN api_keys key ON key.id = line.maker_key_id
      )
      SELECT count(*)::integer,
             json_agg(json_build_object('keyId', quota_key_id, 'perMinute', rate_limit->'per_minute') ORDER BY place)
               FILTER (WHERE rate_limit ? 'per_minute')
        FROM line
    $$`;
}
