-- Takes a new run's stream and stores its first frames in one round trip (`run_event_open`, then `run_event_append`).
-- True when the stream is new, or when it is this writer's and holds exactly these frames (a retry whose first answer
-- was lost). The signal names the run that the thread's readers had before it (`_follows`; '-' for none, NULL for not
-- known).
CREATE OR REPLACE FUNCTION run_event_start(
  _channel text, _run uuid, _fence integer, _epoch text, _count integer, _frames text, _end boolean,
  _ttl_ms double precision, _follows text
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  _payload text;
BEGIN
  INSERT INTO run_event_streams (run_id, fence, epoch, next_n, ended, expires_at)
    VALUES (_run, _fence, _epoch, 1 + _count, _end, now() + _ttl_ms * interval '1 millisecond')
    ON CONFLICT (run_id) DO NOTHING;
  IF NOT FOUND THEN
    RETURN run_event_append(_channel, _run, _fence, _epoch, 1, _count, _frames, _end, _ttl_ms);
  END IF;
  IF _count > 0 THEN
    INSERT INTO run_event_batches (run_id, epoch, first_n, last_n, frames) VALUES (_run, _epoch, 1, _count, _frames);
  END IF;
  _payload := _run || ' 1 ' || _end::integer || ' ' || _epoch || coalesce(' ' || _follows, '') || chr(30) || _frames;
  PERFORM pg_notify(_channel, CASE WHEN octet_length(_payload) < 8000 THEN _payload ELSE _run::text END);
  RETURN true;
END
$$;
