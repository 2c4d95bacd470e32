import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The name under which a connection was imported. Later imports find it by that. */
export class ConnectionImport1763700000673 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE connections ADD COLUMN import_name varchar(128);
      CREATE UNIQUE INDEX connections_import_idx ON connections (organization_id, import_name) WHERE import_name IS NOT NULL`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX connections_import_idx; ALTER TABLE connections DROP COLUMN import_name');
  }
}
