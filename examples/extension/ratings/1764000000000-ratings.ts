import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Ratings1764000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE ratings (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL,
        thread_id varchar(128) NOT NULL,
        stars integer NOT NULL CHECK (stars BETWEEN 1 AND 5),
        escalated_at timestamptz(3),
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        FOREIGN KEY (organization_id, thread_id) REFERENCES threads (organization_id, id) ON DELETE CASCADE
      )`);
    await queryRunner.query('CREATE INDEX ratings_thread_idx ON ratings (organization_id, thread_id, created_at)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE ratings');
  }
}
