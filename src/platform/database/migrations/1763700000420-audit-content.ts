import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An organization may have the arguments and results of its tool calls recorded (`src/audit/calls/`). */
export class AuditContent1763700000420 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE organizations ADD COLUMN audit_content boolean NOT NULL DEFAULT false');
    // Two more nulls cost a row nothing: its null bitmap has room for them.
    await queryRunner.query('ALTER TABLE audit_records ADD COLUMN arguments jsonb, ADD COLUMN result jsonb');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE audit_records DROP COLUMN arguments, DROP COLUMN result');
    await queryRunner.query('ALTER TABLE organizations DROP COLUMN audit_content');
  }
}
