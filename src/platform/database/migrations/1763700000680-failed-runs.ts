import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Finds and counts failed runs among many. Costs nothing for a run that succeeds: its row is in no such index. */
export class FailedRuns1763700000680 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE INDEX runs_failed_idx ON runs (organization_id, created_at) WHERE status = 'failed'`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX runs_failed_idx');
  }
}
