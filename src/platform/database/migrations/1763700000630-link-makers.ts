import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Invitations and reset links remember the member who made them, and end with that membership. */
export class LinkMakers1763700000630 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const [table, index] of TABLES) {
      await queryRunner.query(`
        ALTER TABLE ${table} ADD COLUMN made_by uuid,
          ADD FOREIGN KEY (organization_id, made_by) REFERENCES members (organization_id, user_id) ON DELETE CASCADE;
        CREATE INDEX ${index} ON ${table} (organization_id, made_by)`);
    }
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const [table] of TABLES) await queryRunner.query(`ALTER TABLE ${table} DROP COLUMN made_by`);
  }
}

const TABLES = [
  ['invitations', 'invitations_maker_idx'],
  ['password_links', 'password_links_maker_idx'],
] as const;
