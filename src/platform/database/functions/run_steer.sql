-- Adds messages to the first open run of a thread, which takes them before its next model call. Answers `steered` with
-- that run, or `no_run` if none is open or it was asked to stop: nothing is stored then. Otherwise it answers as
-- `run_post_and_start` does: `repeated`, with the run that has the messages, or the code of what is wrong with the
-- request. `_steer` is the id that the messages get as a run of their own (`run_post_steers`). The thread's lock comes
-- first, as in `run_finish`: a run either ends before this, or sees these messages when it ends.
CREATE OR REPLACE FUNCTION run_steer(
  _organization uuid, _thread text, _agent uuid, _user uuid, _api_key uuid, _grant uuid, _request text,
  _default_tier text, _messages json, _interrupts boolean, _key text, _hash text, _key_hours integer,
  _max_waiting integer, _max_bytes integer, _traceparent text, _tracestate text,
  INOUT _steer uuid, OUT _outcome text, OUT _run uuid, OUT _steered boolean
) LANGUAGE plpgsql AS $$
DECLARE
  _thread_agent uuid;
  _agent_status text;
  _agent_tier text;
  _earlier record;
  _open runs;
  _waiting integer;
  _bytes bigint;
BEGIN
  SELECT virtual_mcp_id INTO _thread_agent FROM threads
    WHERE organization_id = _organization AND id = _thread FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    _outcome := 'thread_not_found';
    RETURN;
  END IF;
  SELECT connections.status, agents.tier INTO _agent_status, _agent_tier
    FROM connections JOIN agents ON agents.id = connections.id
    WHERE connections.organization_id = _organization AND connections.id = _agent;
  IF NOT FOUND THEN
    _outcome := 'agent_not_found';
    RETURN;
  ELSIF _agent_status = 'inactive' THEN
    _outcome := 'agent_inactive';
    RETURN;
  ELSIF _thread_agent <> _agent THEN
    _outcome := 'agent_mismatch';
    RETURN;
  END IF;

  IF _key IS NOT NULL THEN
    SELECT * INTO _earlier FROM run_find_repeated(_organization, _thread, _key, _key_hours);
    IF FOUND THEN
      _outcome := CASE WHEN _earlier.hash = _hash THEN 'repeated' ELSE 'idempotency_conflict' END;
      _steer := _earlier.id;
      _run := _earlier.run_id;
      _steered := _earlier.steered;
      RETURN;
    END IF;
  END IF;

  SELECT * INTO _open FROM runs
    WHERE organization_id = _organization AND thread_id = _thread AND status IN ('queued', 'running', 'waiting')
    ORDER BY position LIMIT 1 FOR NO KEY UPDATE;
  IF NOT FOUND OR _open.cancel_requested_at IS NOT NULL THEN
    _outcome := 'no_run';
    RETURN;
  END IF;
  SELECT count(*) INTO _waiting FROM runs
    WHERE organization_id = _organization AND thread_id = _thread AND status = 'queued';
  SELECT coalesce(sum(bytes), 0) INTO _bytes FROM messages
    WHERE organization_id = _organization AND thread_id = _thread AND run_position = _open.position
      AND ordinal > run_steer_ordinal(1) AND role <> 'assistant';
  IF _waiting + _open.steers - _open.steers_taken >= _max_waiting
      OR _bytes + octet_length(_messages::text) > _max_bytes THEN
    _outcome := 'too_many_runs';
    RETURN;
  END IF;

  _run := _open.id;
  _steered := true;
  UPDATE runs SET steers = steers + 1 WHERE id = _run;
  INSERT INTO run_steers (id, run_id, number, organization_id, thread_id, user_id, api_key_id, grant_id, request_id,
                          tier, interrupts, traceparent, tracestate, idempotency_key, idempotency_hash)
    VALUES (_steer, _run, _open.steers + 1, _organization, _thread, _user, _api_key, _grant, _request,
            coalesce(_agent_tier, _default_tier), _interrupts, _traceparent, _tracestate, _key, _hash);
  INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts, metadata)
    SELECT _organization, _thread, item->>'id', _run, _open.position, run_steer_ordinal(_open.steers + 1) + ordinal,
           item->>'role', item->'parts', json_build_object('taskId', _run, 'steerId', _steer)
      FROM json_array_elements(_messages) WITH ORDINALITY AS list (item, ordinal);
  _outcome := 'steered';
END
$$;
