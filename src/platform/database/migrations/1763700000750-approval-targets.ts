import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Approvals know what they are for: the tool of the upstream, its address and its definition, as digests. Null in rows that are older. */
export class ApprovalTargets1763700000750 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE run_approvals
        ADD COLUMN target_place char(64),
        ADD COLUMN target_definition char(64)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE run_approvals
        DROP COLUMN target_place,
        DROP COLUMN target_definition`);
  }
}
