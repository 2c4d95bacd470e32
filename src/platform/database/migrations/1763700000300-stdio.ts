import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The program of STDIO connections; its environment is one vault envelope. */
export class Stdio1763700000300 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE connections
        ADD COLUMN stdio jsonb,
        ADD COLUMN stdio_env text,
        ADD COLUMN stdio_env_names jsonb NOT NULL DEFAULT '[]',
        ADD CONSTRAINT connections_stdio_check CHECK ((connection_type = 'STDIO') = (stdio IS NOT NULL))`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM connections WHERE connection_type = 'STDIO'`);
    await queryRunner.query(`
      ALTER TABLE connections
        DROP CONSTRAINT connections_stdio_check,
        DROP COLUMN stdio,
        DROP COLUMN stdio_env,
        DROP COLUMN stdio_env_names`);
  }
}
