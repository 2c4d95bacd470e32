import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** A run starts after the end of the run before it on its thread. */
export class StartTimes1763700019270 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createFunction(queryRunner, 'run_post_and_start');
  }

  async down(): Promise<void> {
    // Its arguments and results are the same.
  }
}
