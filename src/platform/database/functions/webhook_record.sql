-- Tells the webhooks of the run's organization of an event of the run, in the transaction of the caller. The output of a
-- run is told only if its agent says so.
CREATE OR REPLACE FUNCTION webhook_record(_event text, _run runs, _approval uuid DEFAULT NULL) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  PERFORM webhook_deliver(
    _event, _run.organization_id, _run.agent_id, _run.id,
    json_build_object(
      'run_id', _run.id,
      'thread_id', _run.thread_id,
      'agent_id', _run.agent_id,
      'status', _run.status,
      'error_code', _run.error->>'code',
      'usage', _run.usage,
      'metadata', _run.metadata,
      'schedule_id', _run.schedule_id,
      'approval_id', _approval,
      'has_output', CASE WHEN _run.output IS NOT NULL THEN true END),
    CASE WHEN _run.output IS NOT NULL AND (SELECT webhook_output FROM agents WHERE id = _run.agent_id)
      THEN _run.output END);
END
$$;
