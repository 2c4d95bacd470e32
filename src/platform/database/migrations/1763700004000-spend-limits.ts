import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

const NEW_FUNCTIONS = [
  'spend_window_start',
  'spend_window_end',
  'spend_limits_of',
  'spend_before',
  'spend_window',
  'spend_unpriced',
  'spend_take',
  'spend_settle',
  'spend_reserve',
  'spend_settle_call',
  'spend_first_call',
  'spend_run_ended',
  'spend_limit_changed',
  'webhook_time',
  'webhook_deliver',
  'webhook_spend_threshold',
];

/** Spending limits, what they have counted, and what each run has reserved. */
export class SpendLimits1763700004000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE agents ADD COLUMN spend jsonb;
      ALTER TABLE api_keys ADD COLUMN spend jsonb;
      ALTER TABLE members ADD COLUMN spend jsonb;
      ALTER TABLE runs ADD COLUMN reservation jsonb;
      ALTER TABLE webhook_deliveries ALTER COLUMN run_id DROP NOT NULL;

      CREATE INDEX agents_spend_idx ON agents (organization_id) WHERE spend IS NOT NULL;
      CREATE INDEX api_keys_spend_idx ON api_keys (organization_id) WHERE spend IS NOT NULL;
      CREATE INDEX members_spend_idx ON members (organization_id) WHERE spend IS NOT NULL;

      CREATE TABLE spend_windows (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
        scope character varying(16) NOT NULL,
        subject_id uuid NOT NULL,
        period character varying(8) NOT NULL,
        starts_at timestamp(3) with time zone NOT NULL,
        used numeric NOT NULL,
        reserved numeric NOT NULL DEFAULT 0,
        is_warned boolean NOT NULL DEFAULT false,
        is_reached boolean NOT NULL DEFAULT false,
        CONSTRAINT spend_windows_scope_check CHECK (scope IN ('organization', 'agent', 'key', 'person')),
        CONSTRAINT spend_windows_period_check CHECK (period IN ('day', 'month')),
        UNIQUE (organization_id, scope, subject_id, period, starts_at)
      );
      CREATE INDEX spend_windows_starts_idx ON spend_windows (starts_at);

      CREATE OR REPLACE VIEW organization_people AS
        SELECT m.id, m.organization_id, m.user_id, coalesce(u.email, '') AS email, u.name, m.role,
               'active'::varchar AS status, m.created_at, m.spend
          FROM members m JOIN users u ON u.id = m.user_id
        UNION ALL
        SELECT i.id, i.organization_id, NULL, i.email, NULL, i.role, 'invited', i.created_at, NULL
          FROM invitations i WHERE i.expires_at > now();

      -- Every limit that is set, one row for each period. The user is that of a person's limit.
      CREATE VIEW spend_limits AS
        SELECT organization_id, scope, subject_id, user_id, period, (spend->>('usd_per_' || period))::numeric AS usd
          FROM (
            SELECT id AS organization_id, 'organization' AS scope, id AS subject_id, NULL::uuid AS user_id,
                   limits->'spend' AS spend
              FROM organizations WHERE limits ? 'spend'
            UNION ALL
            SELECT organization_id, 'agent', id, NULL, spend FROM agents WHERE spend IS NOT NULL
            UNION ALL
            SELECT organization_id, 'key', id, NULL, spend FROM api_keys WHERE spend IS NOT NULL
            UNION ALL
            SELECT organization_id, 'person', id, user_id, spend FROM members WHERE spend IS NOT NULL
          ) AS limited CROSS JOIN (VALUES ('day'), ('month')) AS periods (period)
         WHERE spend ? ('usd_per_' || period);

      DROP FUNCTION run_post_and_start;
      DROP FUNCTION run_regenerate`);
    for (const name of NEW_FUNCTIONS) await createFunction(queryRunner, name);
    for (const name of ['webhook_record', 'run_post_and_start', 'run_regenerate']) {
      await createFunction(queryRunner, name);
    }
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TRIGGER runs_spend_ended ON runs;
      DROP TRIGGER runs_spend_deleted ON runs;
      DROP TRIGGER organizations_spend ON organizations;
      DROP TRIGGER agents_spend ON agents;
      DROP TRIGGER api_keys_spend ON api_keys;
      DROP TRIGGER members_spend ON members;
      DROP FUNCTION ${NEW_FUNCTIONS.toReversed().join(', ')};
      DROP VIEW spend_limits;
      DROP TABLE spend_windows;
      DROP VIEW organization_people;
      CREATE VIEW organization_people AS
        SELECT m.id, m.organization_id, m.user_id, coalesce(u.email, '') AS email, u.name, m.role,
               'active'::varchar AS status, m.created_at
          FROM members m JOIN users u ON u.id = m.user_id
        UNION ALL
        SELECT i.id, i.organization_id, NULL, i.email, NULL, i.role, 'invited', i.created_at
          FROM invitations i WHERE i.expires_at > now();
      DELETE FROM webhook_deliveries WHERE run_id IS NULL;
      ALTER TABLE webhook_deliveries ALTER COLUMN run_id SET NOT NULL;
      ALTER TABLE runs DROP COLUMN reservation;
      ALTER TABLE members DROP COLUMN spend;
      ALTER TABLE api_keys DROP COLUMN spend;
      ALTER TABLE agents DROP COLUMN spend`);
  }
}
