import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Webhooks, and their deliveries, which the transaction that ends a run writes (`src/automation/webhooks/`). */
export class Webhooks1763700000677 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(TABLES);
    await queryRunner.query(RECORD);
    await queryRunner.query(RUN_ENDED);
    await queryRunner.query(APPROVAL_REQUESTED);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TRIGGER run_approvals_webhooks ON run_approvals;
      DROP FUNCTION webhook_approval_requested;
      DROP TRIGGER runs_webhooks ON runs;
      DROP FUNCTION webhook_run_ended;
      DROP FUNCTION webhook_record;
      DROP TABLE webhook_deliveries;
      DROP TABLE webhooks`);
  }
}

// `body` is text: every try sends the same bytes, which are signed. A delivery outlives the record of its run.
const TABLES = `
  CREATE TABLE webhooks (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    url varchar(2048) NOT NULL,
    events jsonb NOT NULL,
    agent_ids jsonb,
    enabled boolean NOT NULL DEFAULT true,
    disabled_reason varchar(256),
    secret text NOT NULL,
    previous_secret text,
    previous_secret_until timestamptz(3),
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now()
  );
  CREATE INDEX webhooks_organization_idx ON webhooks (organization_id, created_at);

  CREATE TABLE webhook_deliveries (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL,
    webhook_id uuid NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    event varchar(32) NOT NULL,
    run_id uuid NOT NULL,
    body text NOT NULL,
    status varchar(16) NOT NULL DEFAULT 'pending',
    attempts integer NOT NULL DEFAULT 0,
    last_status integer,
    last_error varchar(512),
    next_try_at timestamptz(3),
    claim_id uuid,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT webhook_deliveries_status_check CHECK (status IN ('pending', 'delivered', 'failed'))
  );
  CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (webhook_id, next_try_at) WHERE status = 'pending';
  CREATE INDEX webhook_deliveries_webhook_idx ON webhook_deliveries (webhook_id);
  CREATE INDEX webhook_deliveries_list_idx ON webhook_deliveries (organization_id, created_at);
  CREATE INDEX webhook_deliveries_created_idx ON webhook_deliveries (created_at)
`;

// Writes a delivery for each webhook of the run's organization that wants the event, in the transaction of the caller. The share lock
// waits for a webhook that is being disabled or deleted, which drops its pending deliveries. The id is a UUID of version 7.
export const RECORD = `
  CREATE FUNCTION webhook_record(_event text, _run runs, _approval uuid DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO webhook_deliveries (id, organization_id, webhook_id, event, run_id, body, next_try_at)
      SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING
               substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid,
             _run.organization_id, webhooks.id, _event, _run.id,
             json_strip_nulls(json_build_object(
               'type', _event,
               'timestamp', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
               'data', json_build_object(
                 'run_id', _run.id,
                 'thread_id', _run.thread_id,
                 'agent_id', _run.agent_id,
                 'status', _run.status,
                 'error_code', _run.error->>'code',
                 'usage', _run.usage,
                 'metadata', _run.metadata,
                 'approval_id', _approval)))::text,
             now()
        FROM webhooks
        WHERE organization_id = _run.organization_id AND enabled AND events ? _event
          AND (agent_ids IS NULL OR agent_ids ? _run.agent_id::text)
        ORDER BY webhooks.id FOR KEY SHARE;
  END
  $$`;

// A trigger covers every way in which a run ends. Its condition costs other changes of a run nothing, and an organization without
// webhooks pays one look-up in an index.
const RUN_ENDED = `
  CREATE FUNCTION webhook_run_ended() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM webhook_record('run.' || NEW.status, NEW);
    RETURN NULL;
  END
  $$;
  CREATE TRIGGER runs_webhooks AFTER UPDATE OF status ON runs FOR EACH ROW
    WHEN (NEW.status IN ('completed', 'failed', 'cancelled') AND OLD.status NOT IN ('completed', 'failed', 'cancelled'))
    EXECUTE FUNCTION webhook_run_ended()`;

const APPROVAL_REQUESTED = `
  CREATE FUNCTION webhook_approval_requested() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM webhook_record('approval.requested', runs, NEW.id) FROM runs WHERE id = NEW.run_id;
    RETURN NULL;
  END
  $$;
  CREATE TRIGGER run_approvals_webhooks AFTER INSERT ON run_approvals FOR EACH ROW
    EXECUTE FUNCTION webhook_approval_requested()`;
