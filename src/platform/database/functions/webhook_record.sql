-- Writes a delivery for each webhook of the run's organization that wants the event, in the transaction of the caller.
-- The share lock waits for a webhook that is being disabled or deleted, which drops its pending deliveries. The id is a
-- UUID of version 7. `data` comes last, and the output of a run, which keeps its nulls, is its last member.
CREATE OR REPLACE FUNCTION webhook_record(_event text, _run runs, _approval uuid DEFAULT NULL) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO webhook_deliveries (id, organization_id, webhook_id, event, run_id, body, next_try_at)
    SELECT encode(set_bit(set_bit(overlay(
               uuid_send(gen_random_uuid()) PLACING
               substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
             ), 52, 1), 53, 1), 'hex')::uuid,
           _run.organization_id, webhooks.id, _event, _run.id,
           left(json_strip_nulls(json_build_object(
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
               'schedule_id', _run.schedule_id,
               'approval_id', _approval,
               'has_output', CASE WHEN _run.output IS NOT NULL THEN true END)))::text, -2)
             || CASE WHEN _run.output IS NOT NULL AND (SELECT webhook_output FROM agents WHERE id = _run.agent_id)
                  THEN ',"output":' || _run.output ELSE '' END || '}}',
           now()
      FROM webhooks
      WHERE organization_id = _run.organization_id AND enabled AND events ? _event
        AND (agent_ids IS NULL OR agent_ids ? _run.agent_id::text)
      ORDER BY webhooks.id FOR KEY SHARE;
END
$$;
