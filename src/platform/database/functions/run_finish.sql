-- Stores the last state of the answer, ends the run and moves its thread on: to the next waiting run, or to
-- `_thread_status`. With an attempt it ends the run if that attempt is working on it; without one (NULL) it ends a run
-- that is still queued. Parts that are NULL leave the answer as it is. Answers no row when the run is gone, was ended
-- before or is another attempt's; the same call again answers as the first one did. The thread's lock comes first, as
-- in `run_post_and_start`.
-- A run with approvals has an answer that must tell how they ended, so a worker ends it, even while it is queued. No
-- approval of a run outlasts it. A run that released its slot and is ended before it continues has an answer, which
-- says how it ended.
-- The metadata of a completed answer has its output, if the agent has an output schema. Steers that the run has not taken
-- become runs of their own. The thread adds up what its ended runs have used.
-- All statements find rows by their keys, so one plan serves all calls: the planner expects too much of knowing the
-- arguments, and would plan the update of the run for each call, which takes as long as the update itself.
CREATE OR REPLACE FUNCTION run_finish(
  _run uuid, _attempt integer, _epoch text, _status text, _thread_status text, _error jsonb, _finish_reason text,
  _step integer, _usage jsonb, _model text, _parts json, _metadata json, _ordinal integer, _cost double precision,
  _model_calls json
) RETURNS TABLE (
  organization uuid, thread text, answer text, last_attempt integer, next_run uuid, next_attempt integer,
  next_status text
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _ended runs%ROWTYPE;
  _repeated boolean := false;
BEGIN
  PERFORM FROM threads t JOIN runs r ON r.organization_id = t.organization_id AND r.thread_id = t.id
    WHERE r.id = _run FOR NO KEY UPDATE OF t;
  UPDATE runs
    SET status = _status, attempt = coalesce(_attempt, attempt + 1), error = _error, finish_reason = _finish_reason,
        step = coalesce(_step, step), usage = coalesce(_usage, usage), model = coalesce(_model, model),
        cost_usd = coalesce(_cost, cost_usd), model_calls = coalesce(_model_calls, model_calls),
        output = CASE WHEN _status = 'completed' AND json_typeof(_metadata->'output') = 'object'
          THEN _metadata->'output' END,
        tools = message_tools(coalesce(_parts, (SELECT parts FROM messages WHERE organization_id = runs.organization_id
          AND thread_id = runs.thread_id AND id = runs.message_id))),
        finished_at = now(), updated_at = now()
    WHERE id = _run AND CASE WHEN _attempt IS NULL
      THEN status = 'queued' AND NOT EXISTS (SELECT FROM run_approvals WHERE run_id = _run)
      ELSE status = 'running' AND attempt = _attempt AND epoch = _epoch END
    RETURNING * INTO _ended;
  IF NOT FOUND THEN
    SELECT * INTO _ended FROM runs WHERE id = _run AND attempt = _attempt AND epoch = _epoch AND status = _status;
    IF NOT FOUND THEN
      RETURN;
    END IF;
    _repeated := true;
  ELSIF _parts IS NOT NULL THEN
    INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts, metadata)
      VALUES (_ended.organization_id, _ended.thread_id, _ended.message_id, _run, _ended.position, _ordinal, 'assistant',
              _parts, _metadata)
      ON CONFLICT (organization_id, thread_id, id)
        DO UPDATE SET parts = excluded.parts, metadata = excluded.metadata, updated_at = now();
  ELSIF _attempt IS NULL AND _ended.yields > 0 THEN
    UPDATE messages
      SET metadata = (metadata::jsonb || CASE _status
            WHEN 'cancelled' THEN '{"aborted": true}' ELSE '{"finishReason": "error"}' END::jsonb)::json,
          updated_at = now()
      WHERE organization_id = _ended.organization_id AND thread_id = _ended.thread_id AND id = _ended.message_id;
  END IF;

  IF _attempt IS NOT NULL THEN
    UPDATE run_approvals SET approved = false, reason = 'the run ended', closed_as = 'ended', closed_at = now()
      WHERE run_id = _run AND closed_at IS NULL;
  END IF;

  IF NOT _repeated AND _ended.steers > _ended.steers_taken THEN
    PERFORM run_post_steers(_ended);
  END IF;

  organization := _ended.organization_id;
  thread := _ended.thread_id;
  answer := _ended.message_id;
  last_attempt := _ended.attempt;
  SELECT id, attempt + 1, status INTO next_run, next_attempt, next_status FROM runs
    WHERE organization_id = _ended.organization_id AND thread_id = _ended.thread_id
      AND status IN ('queued', 'running', 'waiting')
    ORDER BY position LIMIT 1;
  IF next_run IS NOT NULL THEN
    UPDATE runs SET turn_at = now() WHERE id = next_run AND turn_at IS NULL;
  END IF;
  IF NOT _repeated THEN
    UPDATE threads
      SET status = CASE WHEN next_run IS NULL THEN _thread_status ELSE 'in_progress' END, updated_at = now(),
          tools = CASE WHEN tools @> _ended.tools THEN tools
            ELSE (ARRAY(SELECT unnest(tools) UNION SELECT unnest(_ended.tools)))[1:100] END,
          cost_usd = CASE WHEN _ended.cost_usd IS NULL THEN cost_usd
            ELSE coalesce(cost_usd, 0) + _ended.cost_usd END,
          total_tokens = least(total_tokens + greatest(coalesce(round((_ended.usage->>'totalTokens')::numeric), 0), 0),
            9007199254740991)::bigint,
          duration_ms = duration_ms + coalesce(
            round(extract(epoch FROM _ended.finished_at - _ended.started_at) * 1000)::bigint - _ended.waited_ms, 0)
      WHERE organization_id = _ended.organization_id AND id = _ended.thread_id;
  END IF;
  RETURN NEXT;
END
$$;
