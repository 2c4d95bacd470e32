import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** Reports a long list of changed tools in linear time. */
export class WebhookToolsChanged1763700010000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createFunction(queryRunner, 'webhook_tools_changed');
  }

  /** The version before has the same arguments and result: it works with this function. */
  async down(): Promise<void> {}
}
