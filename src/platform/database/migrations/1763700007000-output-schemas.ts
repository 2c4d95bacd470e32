import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** Schemas of agents' answers, and the objects that runs have answered. */
export class OutputSchemas1763700007000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE agents ADD COLUMN output_schema json, ADD COLUMN webhook_output boolean NOT NULL DEFAULT false;
      ALTER TABLE runs ADD COLUMN output json`);
    await createFunction(queryRunner, 'run_finish');
    await createFunction(queryRunner, 'webhook_record');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE runs DROP COLUMN output;
      ALTER TABLE agents DROP COLUMN output_schema, DROP COLUMN webhook_output`);
  }
}
