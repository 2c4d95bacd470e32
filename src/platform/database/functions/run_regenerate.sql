-- Answers as `run_post_and_start` does: `posted`, or `repeated`, or the code of what is wrong with the request. The
-- thread's lock comes first; with no run open under it, nobody else writes to the thread's messages. A message belongs
-- to the latest request before it that is not superseded, because the answer of an earlier regeneration has the
-- position of its own run. What steered the superseded answer is superseded with it. The first model call is paid for as
-- in `run_post_and_start`.
CREATE OR REPLACE FUNCTION run_regenerate(
  _organization uuid, _thread text, _message text, _agent uuid, _user uuid, _api_key uuid, _grant uuid, _request text,
  _default_tier text, _answer text, _key text, _hash text, _key_hours integer, _room_waiting integer,
  _room_concurrent integer, _traceparent text, _tracestate text, _output_tokens integer, INOUT _run uuid,
  OUT _outcome text, OUT _refusal jsonb
) LANGUAGE plpgsql AS $$
DECLARE
  _has_room boolean :=
    _room_waiting IS NULL OR run_has_waiting_room(_organization, _room_waiting, _room_concurrent);
  _metadata jsonb;
  _earlier record;
  _position bigint;
  _superseded uuid;
  _tier text;
  _temperature double precision;
  _reservation jsonb;
BEGIN
  SELECT metadata INTO _metadata FROM threads
    WHERE organization_id = _organization AND id = _thread AND virtual_mcp_id = _agent FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    _outcome := 'thread_not_found';
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

  PERFORM FROM runs
    WHERE organization_id = _organization AND thread_id = _thread AND status IN ('queued', 'running', 'waiting');
  IF FOUND THEN
    _outcome := 'thread_busy';
    RETURN;
  END IF;

  IF _message IS NOT NULL THEN
    SELECT run_position, superseded_by INTO _position, _superseded FROM messages
      WHERE organization_id = _organization AND thread_id = _thread AND id = _message;
    IF NOT FOUND THEN
      _outcome := 'message_not_found';
      RETURN;
    ELSIF _superseded IS NOT NULL THEN
      _outcome := 'superseded';
      RETURN;
    END IF;
  END IF;
  SELECT run_position INTO _position FROM messages
    WHERE organization_id = _organization AND thread_id = _thread AND role <> 'assistant' AND superseded_by IS NULL
      AND ordinal <= run_steer_ordinal(1) AND (_position IS NULL OR run_position <= _position)
    ORDER BY run_position DESC LIMIT 1;
  IF NOT FOUND THEN
    _outcome := 'message_not_found';
    RETURN;
  ELSIF NOT _has_room THEN
    _outcome := 'too_many_runs';
    RETURN;
  END IF;

  SELECT tier, temperature INTO _tier, _temperature FROM runs
    WHERE organization_id = _organization AND thread_id = _thread AND position = _position;
  IF EXISTS (SELECT FROM spend_limits WHERE organization_id = _organization) THEN
    SELECT first._reservation, first._refusal INTO _reservation, _refusal
      FROM spend_first_call(_organization, _agent, _api_key, _user, coalesce(_tier, _default_tier), 0,
                            _output_tokens) AS first;
    IF _refusal IS NOT NULL THEN
      _outcome := _refusal->>'code';
      RETURN;
    END IF;
  END IF;
  INSERT INTO runs (id, organization_id, thread_id, agent_id, user_id, api_key_id, grant_id, holder_id, request_id,
                    status, tier, temperature, message_id, idempotency_key, idempotency_hash, turn_at, traceparent,
                    tracestate, metadata, question_position, reservation)
    VALUES (_run, _organization, _thread, _agent, _user, _api_key, _grant, coalesce(_api_key, _user), _request,
            'queued', coalesce(_tier, _default_tier), _temperature, _answer, _key, _hash, now(), _traceparent,
            _tracestate, _metadata, _position, _reservation);
  UPDATE messages SET superseded_by = _run
    WHERE organization_id = _organization AND thread_id = _thread AND superseded_by IS NULL
      AND (run_position > _position
        OR (run_position = _position AND (role = 'assistant' OR ordinal > run_steer_ordinal(1))));
  UPDATE threads SET status = 'in_progress', updated_at = now() WHERE organization_id = _organization AND id = _thread;
  _outcome := 'posted';
END
$$;
