import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** The statements that end a run are planned once for each connection. */
export class PlanOfRunEnds1763700019280 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createFunction(queryRunner, 'run_finish');
  }

  async down(): Promise<void> {
    // Its arguments and results are the same.
  }
}
