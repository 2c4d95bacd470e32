-- Writes a delivery for each webhook of the organization that wants the event, in the transaction of the caller. A
-- webhook for some agents wants only events of those. The share lock waits for a webhook that is being disabled or
-- deleted, which drops its pending deliveries. The id is a UUID of version 7.
CREATE OR REPLACE FUNCTION webhook_deliver(_event text, _organization uuid, _agent uuid, _run uuid, _data json)
  RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO webhook_deliveries (id, organization_id, webhook_id, event, run_id, body, next_try_at)
    SELECT encode(set_bit(set_bit(overlay(
               uuid_send(gen_random_uuid()) PLACING
               substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
             ), 52, 1), 53, 1), 'hex')::uuid,
           _organization, webhooks.id, _event, _run,
           json_strip_nulls(json_build_object('type', _event, 'timestamp', webhook_time(now()), 'data', _data))::text,
           now()
      FROM webhooks
      WHERE organization_id = _organization AND enabled AND events ? _event
        AND (agent_ids IS NULL OR agent_ids ? _agent::text)
      ORDER BY webhooks.id FOR KEY SHARE;
END
$$;
