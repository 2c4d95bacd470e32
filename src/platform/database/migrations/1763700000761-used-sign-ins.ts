import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The states of sign-ins that were used: each is valid once (`src/proxy/forwarding/session/sign-in-states.ts`). */
export class UsedSignIns1763700000761 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('CREATE TABLE used_sign_ins (id uuid PRIMARY KEY, expires_at timestamptz NOT NULL)');
    await queryRunner.query('CREATE INDEX used_sign_ins_expiry_idx ON used_sign_ins (expires_at)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE used_sign_ins');
  }
}
