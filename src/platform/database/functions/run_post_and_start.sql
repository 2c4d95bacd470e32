-- Answers `posted`, or `repeated` with the run that an earlier request with the same idempotency key has made, or the
-- code of what is wrong with the request; nothing is stored then. The thread's lock comes first, so that requests of
-- one thread are served one after the other; each statement after it sees what was committed before. Foreign keys do
-- not conflict with it. Of all unique keys only a message's id can be taken: the run's own ids are new, and its
-- idempotency key was looked for.
-- With `_room_waiting`, the organization may have no room for another waiting run: `too_many_runs` is answered then,
-- after the checks that come first. The lock on that room is taken before that of the thread.
-- Without a `_tier`, the run gets its agent's. With an `_epoch`, the first open run of its thread starts at once, if
-- its organization has room: `_started` is its row, `_previous` the run that was posted to the thread right before it,
-- and `_is_limited` tells whether its organization has a limit of concurrent runs.
-- With `_follows`, `overtaken` is answered unless that run is the last one of the thread. With `_metadata`, the thread
-- gets this metadata, and the run with it.
-- `_has_spend_limit` tells whether anything in the organization has a spending limit. With `_input_tokens`, a run to
-- which one applies reserves its first model call; `_refusal` tells why it cannot, which is the outcome then.
CREATE OR REPLACE FUNCTION run_post_and_start(
  _organization uuid, _thread text, _agent uuid, _user uuid, _api_key uuid, _grant uuid, _request text, _tier text,
  _temperature double precision, _messages json, _answer text, _key text, _hash text, _key_hours integer,
  _max_waiting integer, _room_waiting integer, _room_concurrent integer, _traceparent text, _tracestate text,
  _epoch text, _cap integer, _default_tier text, _input_tokens integer, _output_tokens integer,
  INOUT _run uuid, _follows uuid DEFAULT NULL, _metadata jsonb DEFAULT NULL, OUT _outcome text, OUT _is_head boolean,
  OUT _started runs, OUT _previous uuid, OUT _is_limited boolean, OUT _has_spend_limit boolean, OUT _refusal jsonb
) LANGUAGE plpgsql AS $$
DECLARE
  _has_room boolean :=
    _room_waiting IS NULL OR run_has_waiting_room(_organization, _room_waiting, _room_concurrent);
  _thread_agent uuid;
  _thread_metadata jsonb;
  _agent_status text;
  _agent_tier text;
  _earlier record;
  _waiting integer;
  _starts boolean := false;
  _reservation jsonb;
  _new runs;
BEGIN
  SELECT virtual_mcp_id, metadata INTO _thread_agent, _thread_metadata FROM threads
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
      _run := _earlier.run_id;
      RETURN;
    END IF;
  END IF;

  SELECT id INTO _previous FROM runs
    WHERE organization_id = _organization AND thread_id = _thread ORDER BY position DESC LIMIT 1;
  IF _follows IS NOT NULL AND _previous IS DISTINCT FROM _follows THEN
    _outcome := 'overtaken';
    RETURN;
  END IF;

  SELECT count(*) = 0, count(*) FILTER (WHERE status = 'queued') INTO _is_head, _waiting FROM runs
    WHERE organization_id = _organization AND thread_id = _thread AND status IN ('queued', 'running', 'waiting');
  IF NOT _has_room OR _waiting >= _max_waiting THEN
    _outcome := 'too_many_runs';
    RETURN;
  END IF;

  -- Its lock comes before those of spending windows: whoever ends a run holds the windows last.
  IF _is_head AND _epoch IS NOT NULL THEN
    _starts := run_has_room(_organization, _cap);
  END IF;
  _has_spend_limit := EXISTS (SELECT FROM spend_limits WHERE organization_id = _organization);
  IF _has_spend_limit AND _input_tokens IS NOT NULL THEN
    SELECT first._reservation, first._refusal INTO _reservation, _refusal
      FROM spend_first_call(_organization, _agent, _api_key, _user, coalesce(_tier, _agent_tier, _default_tier),
                            _input_tokens, _output_tokens) AS first;
    IF _refusal IS NOT NULL THEN
      _outcome := _refusal->>'code';
      RETURN;
    END IF;
  END IF;

  INSERT INTO runs (id, organization_id, thread_id, agent_id, user_id, api_key_id, grant_id, holder_id, request_id,
                    status, tier, temperature, message_id, idempotency_key, idempotency_hash, turn_at, traceparent,
                    tracestate, metadata, attempt, epoch, started_at, reservation)
    VALUES (_run, _organization, _thread, _agent, _user, _api_key, _grant, coalesce(_api_key, _user), _request,
            CASE WHEN _starts THEN 'running' ELSE 'queued' END, coalesce(_tier, _agent_tier, _default_tier),
            _temperature, _answer, _key, _hash,
            CASE WHEN _is_head THEN now() END, _traceparent, _tracestate, coalesce(_metadata, _thread_metadata),
            CASE WHEN _starts THEN 1 ELSE 0 END, CASE WHEN _starts THEN _epoch END,
            -- now() can be before the end of the run before, for which the lock of the thread has waited.
            CASE WHEN _starts THEN clock_timestamp() END, _reservation)
    RETURNING * INTO _new;
  INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts, metadata)
    SELECT _organization, _thread, item->>'id', _run, _new.position, ordinal, item->>'role', item->'parts',
           json_build_object('taskId', _run)
      FROM json_array_elements(_messages) WITH ORDINALITY AS list (item, ordinal);
  UPDATE threads SET status = 'in_progress', updated_at = now(), metadata = coalesce(_metadata, metadata)
    WHERE organization_id = _organization AND id = _thread;
  IF _starts THEN
    _started := _new;
    _is_limited := run_concurrency_limit(_organization, _cap) IS NOT NULL;
  END IF;
  _outcome := 'posted';
END
$$;
