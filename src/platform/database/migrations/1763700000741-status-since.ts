import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Since when a connection has its status. Null for those that have had it since before. */
export class StatusSince1763700000741 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    // Without a default, which would date the status of the stored ones.
    await queryRunner.query(`
      ALTER TABLE connections ADD COLUMN status_since timestamptz(3);
      ALTER TABLE connections ALTER COLUMN status_since SET DEFAULT now();
      CREATE FUNCTION connection_status_since() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.status_since := now();
        RETURN NEW;
      END
      $$;
      CREATE TRIGGER connections_status_since BEFORE UPDATE OF status ON connections
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION connection_status_since()`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TRIGGER connections_status_since ON connections;
      DROP FUNCTION connection_status_since;
      ALTER TABLE connections DROP COLUMN status_since`);
  }
}
