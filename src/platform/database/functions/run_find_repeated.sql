-- The request of a thread with this idempotency key: a run, or a steer with the run that has its messages. Keys that are
-- too old are taken from both tables, because a steer that its run does not take becomes a run with its key.
CREATE OR REPLACE FUNCTION run_find_repeated(_organization uuid, _thread text, _key text, _key_hours integer)
  RETURNS TABLE (id uuid, run_id uuid, hash text, steered boolean) LANGUAGE sql AS $$
UPDATE runs SET idempotency_key = NULL, idempotency_hash = NULL
 WHERE organization_id = _organization AND thread_id = _thread AND idempotency_key = _key
   AND created_at < now() - make_interval(hours => _key_hours);
UPDATE run_steers SET idempotency_key = NULL, idempotency_hash = NULL
 WHERE organization_id = _organization AND thread_id = _thread AND idempotency_key = _key
   AND created_at < now() - make_interval(hours => _key_hours);
SELECT runs.id, runs.id, runs.idempotency_hash::text, false FROM runs
 WHERE organization_id = _organization AND thread_id = _thread AND idempotency_key = _key
UNION ALL
SELECT run_steers.id, run_steers.run_id, run_steers.idempotency_hash::text, true FROM run_steers
 WHERE organization_id = _organization AND thread_id = _thread AND idempotency_key = _key
$$;
