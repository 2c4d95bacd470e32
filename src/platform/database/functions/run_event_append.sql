-- Stores one batch and signals it when the transaction commits. True also for a batch that is already stored (a retry
-- whose first answer was lost); false when the writer is fenced off or the batch does not continue the stream. A
-- notification's payload must stay below 8000 bytes: a larger batch is announced by the run's id alone.
CREATE OR REPLACE FUNCTION run_event_append(
  _channel text, _run uuid, _fence integer, _epoch text, _first integer, _count integer, _frames text, _end boolean,
  _ttl_ms double precision
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  _payload text;
BEGIN
  UPDATE run_event_streams
    SET next_n = _first + _count, ended = _end, expires_at = now() + _ttl_ms * interval '1 millisecond'
    WHERE run_id = _run AND fence = _fence AND epoch = _epoch AND next_n = _first AND NOT ended;
  IF FOUND THEN
    IF _count > 0 THEN
      INSERT INTO run_event_batches (run_id, epoch, first_n, last_n, frames)
        VALUES (_run, _epoch, _first, _first + _count - 1, _frames);
    END IF;
    _payload := _run || ' ' || _first || ' ' || _end::integer || ' ' || _epoch || chr(30) || _frames;
    PERFORM pg_notify(_channel, CASE WHEN octet_length(_payload) < 8000 THEN _payload ELSE _run::text END);
    RETURN true;
  END IF;
  RETURN EXISTS (
    SELECT FROM run_event_streams
      WHERE run_id = _run AND fence = _fence AND epoch = _epoch AND next_n >= _first + _count AND (ended OR NOT _end)
  ) AND (
    _count = 0 OR EXISTS (
      SELECT FROM run_event_batches
        WHERE run_id = _run AND last_n = _first + _count - 1 AND first_n = _first
          AND epoch = _epoch AND frames = _frames
    )
  );
END
$$;
