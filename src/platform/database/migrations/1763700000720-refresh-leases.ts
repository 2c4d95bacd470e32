import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The lease of the process that refreshes the tokens of an account at an upstream. */
export class RefreshLeases1763700000720 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'ALTER TABLE upstream_authorizations ADD COLUMN refresh_lease uuid, ADD COLUMN refresh_lease_until timestamptz(3)',
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'ALTER TABLE upstream_authorizations DROP COLUMN refresh_lease, DROP COLUMN refresh_lease_until',
    );
  }
}
