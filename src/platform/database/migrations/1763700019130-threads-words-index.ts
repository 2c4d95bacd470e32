import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Finds threads by the words of their titles. Threads are read meanwhile, and not stored. */
export class ThreadsWordsIndex1763700019130 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('CREATE INDEX threads_words_idx ON threads USING gin (text_words(organization_id, title))');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX threads_words_idx');
  }
}
