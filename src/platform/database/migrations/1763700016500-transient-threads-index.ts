import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Finds transient threads. No column of the index changes, so that updates stay cheap. It is made in a transaction of
 * its own, without the lock that adds the column: threads are read meanwhile.
 */
export class TransientThreadsIndex1763700016500 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('CREATE INDEX threads_transient_idx ON threads (created_at) WHERE is_transient');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX threads_transient_idx');
  }
}
