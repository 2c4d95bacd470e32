import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** A model call locks the windows of its run's last reservation and its own in one order. */
export class OrderedSpendWindows1763700019320 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createFunction(queryRunner, 'spend_reserve');
  }

  async down(): Promise<void> {
    // Its arguments and results are the same.
  }
}
