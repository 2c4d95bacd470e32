import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Counts of the mails that organizations have the service send, in the layout of rate-limiter-flexible. */
export class MailCounts1763700000711 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE mail_counts (
        key varchar(255) PRIMARY KEY,
        points integer NOT NULL DEFAULT 0,
        expire bigint
      )`);
    await queryRunner.query('CREATE INDEX mail_counts_expire_idx ON mail_counts (expire)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE mail_counts');
  }
}
