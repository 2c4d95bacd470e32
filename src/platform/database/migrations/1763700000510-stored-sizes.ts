import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What lists need to bound a page by bytes before its rows are read (`src/core/paging/`). */
export class StoredSizes1763700000510 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    // Null for messages of before: measuring them here could take hours, reading them measures them too.
    await queryRunner.query('ALTER TABLE messages ADD COLUMN bytes integer');
    await queryRunner.query(MEASURE_MESSAGE);
    await queryRunner.query(`
      CREATE TRIGGER messages_measure BEFORE INSERT OR UPDATE OF parts, metadata ON messages
        FOR EACH ROW EXECUTE FUNCTION message_measure()`);
    await queryRunner.query(JSON_OCTETS);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP FUNCTION json_octets');
    await queryRunner.query('DROP TRIGGER messages_measure ON messages');
    await queryRunner.query('DROP FUNCTION message_measure');
    await queryRunner.query('ALTER TABLE messages DROP COLUMN bytes');
  }
}

// A large message is stored out of line and compressed: measuring a thousand of them when they are listed would unpack them all.
const MEASURE_MESSAGE = `
  CREATE FUNCTION message_measure() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.bytes := octet_length(NEW.parts::text) + octet_length(NEW.metadata::text);
    RETURN NEW;
  END $$`;

// The size of the JSON text, where pg_column_size tells that of the compressed value. The cost makes the planner measure only
// the rows of the page, after sorting; without it the rows of the whole list would be unpacked first.
const JSON_OCTETS = `
  CREATE FUNCTION json_octets(value jsonb) RETURNS integer LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 AS $$
  BEGIN
    RETURN coalesce(octet_length(value::text), 0);
  END $$`;
