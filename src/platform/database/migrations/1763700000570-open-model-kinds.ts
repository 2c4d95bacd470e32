import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Modules add kinds of AI providers: which there are is for the application to say. */
export class OpenModelKinds1763700000570 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE ai_providers DROP CONSTRAINT ai_providers_kind_check');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    const kinds = `kind IN ('openai-compatible', 'openai', 'anthropic')`;
    await queryRunner.query(`DELETE FROM ai_providers WHERE NOT ${kinds}`);
    await queryRunner.query(`ALTER TABLE ai_providers ADD CONSTRAINT ai_providers_kind_check CHECK (${kinds})`);
  }
}
