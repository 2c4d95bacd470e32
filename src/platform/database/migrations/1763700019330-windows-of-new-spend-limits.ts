import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** A spending limit that is set forgets the windows from before it. */
export class WindowsOfNewSpendLimits1763700019330 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createFunction(queryRunner, 'spend_limit_changed');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TRIGGER agents_spend_set ON agents;
      DROP TRIGGER api_keys_spend_set ON api_keys;
      DROP TRIGGER members_spend_set ON members`);
  }
}
