import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Approvals name the tool as its upstream does. Null in those that were requested before. */
export class ApprovalTools1763700000740 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE run_approvals ADD COLUMN upstream_tool text');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE run_approvals DROP COLUMN upstream_tool');
  }
}
