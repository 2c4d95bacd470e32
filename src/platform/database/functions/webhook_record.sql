-- Tells the webhooks of the run's organization of an event of the run, in the transaction of the caller.
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
      'approval_id', _approval));
END
$$;
