import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Members and open invitations, for a list of both. */
export class PeopleList1763700000606 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(PEOPLE);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP VIEW organization_people');
  }
}

const PEOPLE = `
  CREATE VIEW organization_people AS
    SELECT m.id, m.organization_id, m.user_id, coalesce(u.email, '') AS email, u.name, m.role, 'active'::varchar AS status,
           m.created_at
      FROM members m JOIN users u ON u.id = m.user_id
    UNION ALL
    SELECT i.id, i.organization_id, NULL, i.email, NULL, i.role, 'invited', i.created_at
      FROM invitations i WHERE i.expires_at > now();
`;
