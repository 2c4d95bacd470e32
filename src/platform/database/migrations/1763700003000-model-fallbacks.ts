import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Several models for each tier, in the order in which they are tried. */
export class ModelFallbacks1763700003000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE model_tiers
        ADD COLUMN position smallint NOT NULL DEFAULT 0,
        ADD COLUMN max_output_tokens integer,
        ADD COLUMN first_chunk_timeout_s integer,
        DROP CONSTRAINT model_tiers_pkey,
        ADD PRIMARY KEY (organization_id, tier, position)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DELETE FROM model_tiers WHERE position > 0;
      ALTER TABLE model_tiers
        DROP CONSTRAINT model_tiers_pkey,
        DROP COLUMN position,
        DROP COLUMN max_output_tokens,
        DROP COLUMN first_chunk_timeout_s,
        ADD PRIMARY KEY (organization_id, tier)`);
  }
}
