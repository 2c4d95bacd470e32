import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Forgets the stored lists of tools that PostgreSQL cannot decode. They are stored again, without such characters. */
export class PlainToolLists1763700019210 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      String.raw`UPDATE connections SET tools = NULL, tools_refreshed_at = NULL WHERE tools::text ~ '\\u(0000|d[89a-f])'`,
    );
  }

  async down(): Promise<void> {
    // The next answer of the server fills the list.
  }
}
