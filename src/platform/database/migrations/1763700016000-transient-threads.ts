import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Threads that are deleted when their run is over. */
export class TransientThreads1763700016000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE threads ADD COLUMN is_transient boolean NOT NULL DEFAULT false');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DELETE FROM threads WHERE is_transient;
      ALTER TABLE threads DROP COLUMN is_transient`);
  }
}
