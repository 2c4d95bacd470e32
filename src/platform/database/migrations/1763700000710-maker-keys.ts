import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An API key knows the key that made it, and is deleted with it. `api_key_line` counts a key and its makers,
 * and lists their rate limits, that of the key itself first.
 * A key that was made before has no maker.
 */
export class MakerKeys1763700000710 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE api_keys ADD maker_key_id uuid`);
    await queryRunner.query(
      `ALTER TABLE api_keys ADD CONSTRAINT api_keys_maker_key_id_fkey FOREIGN KEY (maker_key_id) REFERENCES api_keys (id) ON DELETE CASCADE`,
    );
    await queryRunner.query(
      `CREATE INDEX api_keys_maker_idx ON api_keys (maker_key_id) WHERE maker_key_id IS NOT NULL`,
    );
    await queryRunner.query(LINE);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP FUNCTION api_key_line');
    await queryRunner.query('ALTER TABLE api_keys DROP COLUMN maker_key_id');
  }
}

const LINE = `
  CREATE FUNCTION api_key_line(_key uuid, OUT length integer, OUT limits json) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE line AS (
      SELECT id, maker_key_id, rate_limit, 1 AS place FROM api_keys WHERE id = _key
      UNION ALL
      SELECT maker.id, maker.maker_key_id, maker.rate_limit, place + 1 FROM line JOIN api_keys maker ON maker.id = line.maker_key_id
    )
    SELECT count(*)::integer,
           json_agg(json_build_object('keyId', id, 'perMinute', rate_limit->'per_minute') ORDER BY place)
             FILTER (WHERE rate_limit ? 'per_minute')
      FROM line
  $$`;
