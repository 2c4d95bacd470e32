import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The two transactions of a run as functions, one round trip each: posting it (`src/runtime/runs/records/run-posting.ts`) and
 * ending it (`src/runtime/runs/records/run-finish.ts`). Their statements keep their plans for as long as a connection lives.
 */
export class RunTransactions1763700000400 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(POST);
    await queryRunner.query(FINISH);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP FUNCTION run_finish, run_post');
  }
}

// Answers `posted`, or `repeated` with the run that an earlier request with the same idempotency key has made, or the code of
// what is wrong with the request; nothing is stored then. The thread's lock comes first, so that requests of one thread are
// served one after the other; each statement after it sees what was committed before. Foreign keys do not conflict with it.
// Of all unique keys only a message's id can be taken: the run's own ids are new, and its idempotency key was looked for.
export const POST = `
  CREATE FUNCTION run_post(
    _organization uuid, _thread text, _agent uuid, _user uuid, _api_key uuid, _request text, _tier text,
    _temperature double precision, _messages json, _answer text, _key text, _hash text,
    _key_hours integer, _max_waiting integer,
    INOUT _run uuid, OUT _outcome text, OUT _is_head boolean
  ) LANGUAGE plpgsql AS $$
  DECLARE
    _thread_agent uuid;
    _earlier record;
    _waiting integer;
    _position bigint;
  BEGIN
    SELECT virtual_mcp_id INTO _thread_agent FROM threads
      WHERE organization_id = _organization AND id = _thread FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      _outcome := 'thread_not_found';
      RETURN;
    ELSIF _thread_agent <> _agent THEN
      _outcome := 'agent_mismatch';
      RETURN;
    END IF;

    IF _key IS NOT NULL THEN
      UPDATE runs SET idempotency_key = NULL, idempotency_hash = NULL
        WHERE organization_id = _organization AND thread_id = _thread AND idempotency_key = _key
          AND created_at < now() - make_interval(hours => _key_hours);
      SELECT id, idempotency_hash AS hash INTO _earlier FROM runs
        WHERE organization_id = _organization AND thread_id = _thread AND idempotency_key = _key;
      IF FOUND THEN
        _outcome := CASE WHEN _earlier.hash = _hash THEN 'repeated' ELSE 'idempotency_conflict' END;
        _run := _earlier.id;
        RETURN;
      END IF;
    END IF;

    SELECT count(*) = 0, count(*) FILTER (WHERE status = 'queued') INTO _is_head, _waiting FROM runs
      WHERE organization_id = _organization AND thread_id = _thread AND status IN ('queued', 'running');
    IF _waiting >= _max_waiting THEN
      _outcome := 'too_many_runs';
      RETURN;
    END IF;

    INSERT INTO runs (id, organization_id, thread_id, agent_id, user_id, api_key_id, request_id, status, tier, temperature,
                      message_id, idempotency_key, idempotency_hash)
      VALUES (_run, _organization, _thread, _agent, _user, _api_key, _request, 'queued', _tier, _temperature, _answer, _key, _hash)
      RETURNING position INTO _position;
    INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts, metadata)
      SELECT _organization, _thread, item->>'id', _run, _position, ordinal, item->>'role', item->'parts',
             json_build_object('taskId', _run)
        FROM json_array_elements(_messages) WITH ORDINALITY AS list (item, ordinal);
    UPDATE threads SET status = 'in_progress', updated_at = now() WHERE organization_id = _organization AND id = _thread;
    _outcome := 'posted';
  END
  $$;
`;

// Stores the last state of the answer, ends the run and moves its thread on: to the next waiting run, or to `_thread_status`.
// With an attempt it ends the run if that attempt is working on it; without one (NULL) it ends a run that is still queued.
// Parts that are NULL leave the answer as it is. Answers no row when the run is gone, was ended before or is another
// attempt's; the same call again answers as the first one did. The thread's lock comes first, as in `run_post`.
export const FINISH = `
  CREATE FUNCTION run_finish(
    _run uuid, _attempt integer, _status text, _thread_status text, _error jsonb, _finish_reason text,
    _step integer, _usage jsonb, _model text, _parts json, _metadata json, _ordinal integer
  ) RETURNS TABLE (
    organization uuid, thread text, answer text, last_attempt integer, next_run uuid, next_attempt integer, next_status text
  ) LANGUAGE plpgsql AS $$
  DECLARE
    _ended runs%ROWTYPE;
    _repeated boolean := false;
  BEGIN
    PERFORM FROM threads t JOIN runs r ON r.organization_id = t.organization_id AND r.thread_id = t.id
      WHERE r.id = _run FOR NO KEY UPDATE OF t;
    UPDATE runs
      SET status = _status, attempt = coalesce(_attempt, attempt + 1), error = _error, finish_reason = _finish_reason,
          step = coalesce(_step, step), usage = coalesce(_usage, usage), model = coalesce(_model, model),
          finished_at = now(), updated_at = now()
      WHERE id = _run AND CASE WHEN _attempt IS NULL THEN status = 'queued' ELSE status = 'running' AND attempt = _attempt END
      RETURNING * INTO _ended;
    IF NOT FOUND THEN
      SELECT * INTO _ended FROM runs WHERE id = _run AND attempt = _attempt AND status = _status;
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
    END IF;

    organization := _ended.organization_id;
    thread := _ended.thread_id;
    answer := _ended.message_id;
    last_attempt := _ended.attempt;
    SELECT id, attempt + 1, status INTO next_run, next_attempt, next_status FROM runs
      WHERE organization_id = _ended.organization_id AND thread_id = _ended.thread_id AND status IN ('queued', 'running')
      ORDER BY position LIMIT 1;
    IF NOT _repeated THEN
      UPDATE threads SET status = CASE WHEN next_run IS NULL THEN _thread_status ELSE 'in_progress' END, updated_at = now()
        WHERE organization_id = _ended.organization_id AND id = _ended.thread_id;
    END IF;
    RETURN NEXT;
  END
  $$;
`;
