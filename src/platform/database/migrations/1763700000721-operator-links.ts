import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Links of the operator, which set the password of a person whatever the organizations. */
export class OperatorLinks1763700000721 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE password_links ALTER COLUMN organization_id DROP NOT NULL,
        ADD FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE;
      CREATE INDEX password_links_user_idx ON password_links (user_id)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DELETE FROM password_links WHERE organization_id IS NULL;
      DROP INDEX password_links_user_idx;
      ALTER TABLE password_links ALTER COLUMN organization_id SET NOT NULL, DROP CONSTRAINT password_links_user_id_fkey`);
  }
}
