import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The fields of AI providers besides address and key, such as the region of AWS: as answers show them, and sealed. */
export class ProviderOptions1763700002000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE ai_providers
        ADD COLUMN options jsonb NOT NULL DEFAULT '{}',
        ADD COLUMN secrets text`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE ai_providers DROP COLUMN secrets, DROP COLUMN options');
  }
}
