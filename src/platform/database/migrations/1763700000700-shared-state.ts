import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A connection may say that its callers share one session with the upstream. */
export class SharedState1763700000700 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE connections ADD COLUMN shared_state boolean NOT NULL DEFAULT false');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE connections DROP COLUMN shared_state');
  }
}
