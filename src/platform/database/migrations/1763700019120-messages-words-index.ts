import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Finds messages by their words. It reads every message once; messages are read meanwhile, and not stored. */
export class MessagesWordsIndex1763700019120 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'CREATE INDEX messages_words_idx ON messages USING gin (message_words(organization_id, role, parts, metadata))',
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX messages_words_idx');
  }
}
