import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Finds the rows that end with a model provider, a member or a connection, and connections that run programs, without
 * reading those of all organizations.
 */
export class GrowthIndexes1763700019260 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE INDEX connections_program_idx ON connections (organization_id) WHERE connection_type = 'STDIO';
      CREATE INDEX model_tiers_provider_idx ON model_tiers (provider_id);
      CREATE INDEX upstream_authorizations_member_idx ON upstream_authorizations (organization_id, user_id);
      CREATE INDEX upstream_log_ins_connection_idx ON upstream_log_ins (connection_id)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP INDEX connections_program_idx, model_tiers_provider_idx, upstream_authorizations_member_idx,
        upstream_log_ins_connection_idx`);
  }
}
