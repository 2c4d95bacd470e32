-- The messages that an ended run has not taken become runs of their own, in their order. Called in the transaction that
-- ends the run, under the thread's lock.
CREATE OR REPLACE FUNCTION run_post_steers(_ended runs) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _steer run_steers;
  _position bigint;
  _first integer;
BEGIN
  FOR _steer IN
    SELECT * FROM run_steers WHERE run_id = _ended.id AND number > _ended.steers_taken ORDER BY number
  LOOP
    INSERT INTO runs (id, organization_id, thread_id, agent_id, user_id, api_key_id, grant_id, holder_id, request_id,
                      status, tier, message_id, idempotency_key, idempotency_hash, traceparent, tracestate, metadata,
                      created_at)
      SELECT _steer.id, _ended.organization_id, _ended.thread_id, _ended.agent_id, _steer.user_id, _steer.api_key_id,
             _steer.grant_id, coalesce(_steer.api_key_id, _steer.user_id), _steer.request_id, 'queued', _steer.tier,
             gen_random_uuid(), _steer.idempotency_key, _steer.idempotency_hash, _steer.traceparent,
             _steer.tracestate, threads.metadata, _steer.created_at
        FROM threads WHERE threads.organization_id = _ended.organization_id AND threads.id = _ended.thread_id
      RETURNING position INTO _position;
    _first := run_steer_ordinal(_steer.number);
    UPDATE messages
      SET run_id = _steer.id, run_position = _position, ordinal = ordinal - _first,
          metadata = json_build_object('taskId', _steer.id), updated_at = now()
      WHERE organization_id = _ended.organization_id AND thread_id = _ended.thread_id
        AND run_position = _ended.position AND ordinal BETWEEN _first + 1 AND _first + 1000;
  END LOOP;
  DELETE FROM run_steers WHERE run_id = _ended.id AND number > _ended.steers_taken;
END
$$;
