import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Slugs of agents, made of their titles, the oldest agent of a title first. Processes of the version before create
 * agents without one: the default is for them.
 */
export class AgentSlugs1763700015000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE agents ADD COLUMN slug character varying(63);
      CREATE UNIQUE INDEX agents_slug_idx ON agents (organization_id, slug);
      DO $$
      DECLARE
        agent record;
        number integer;
        free text;
      BEGIN
        FOR agent IN
          SELECT id, organization_id, words,
                 row_number() OVER (PARTITION BY organization_id, words ORDER BY created_at, id) AS rank
            FROM (SELECT id, organization_id, created_at, CASE
                           WHEN words = '' THEN 'agent'
                           WHEN words ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN 'agent-' || words
                           ELSE words
                         END AS words
                    FROM (SELECT agents.id, agents.organization_id, connections.created_at,
                                 trim(both '-' from left(trim(both '-' from regexp_replace(lower(regexp_replace(
                                   normalize(title, NFKD), '[\\u0300-\\u036f]', '', 'g') COLLATE "C"),
                                   '[^a-z0-9]+', '-', 'g')), 52)) AS words
                            FROM agents JOIN connections ON connections.id = agents.id) AS titled) AS named
           ORDER BY created_at, id
        LOOP
          number := agent.rank;
          LOOP
            free := agent.words || CASE WHEN number > 1 THEN '-' || number ELSE '' END;
            EXIT WHEN NOT EXISTS (SELECT FROM agents WHERE organization_id = agent.organization_id AND slug = free);
            number := number + 1;
          END LOOP;
          UPDATE agents SET slug = free WHERE id = agent.id;
        END LOOP;
      END $$;
      ALTER TABLE agents ALTER COLUMN slug SET NOT NULL,
        ALTER COLUMN slug SET DEFAULT 'agent-' || gen_random_uuid()`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE agents DROP COLUMN slug');
  }
}
