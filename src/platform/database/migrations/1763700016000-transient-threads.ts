import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Threads that are deleted when their run is over. No column of the index changes, so that updates stay cheap. */
export class TransientThreads1763700016000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE threads ADD COLUMN is_transient boolean NOT NULL DEFAULT false;
      CREATE INDEX threads_transient_idx ON threads (created_at) WHERE is_transient`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DELETE FROM threads WHERE is_transient;
      ALTER TABLE threads DROP COLUMN is_transient`);
  }
}
