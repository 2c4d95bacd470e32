import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Modules add types of connections: which there are is for the application to say. */
export class OpenConnectionTypes1763700000580 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE connections DROP CONSTRAINT connections_connection_type_check');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    const types = `connection_type IN ('HTTP', 'STDIO', 'VIRTUAL')`;
    await queryRunner.query(`DELETE FROM connections WHERE NOT ${types}`);
    await queryRunner.query(
      `ALTER TABLE connections ADD CONSTRAINT connections_connection_type_check CHECK (${types})`,
    );
  }
}
