import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** The functions that each run calls do the same with less work. */
export class CheaperRuns1763700019220 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const name of FUNCTIONS) await createFunction(queryRunner, name);
  }

  async down(): Promise<void> {
    // Their arguments and results are the same.
  }
}

const FUNCTIONS = ['message_words', 'message_tools', 'run_concurrency_limit', 'webhook_run_ended', 'run_finish'];
