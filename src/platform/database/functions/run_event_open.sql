-- Answers the next free frame number, or no row when a later attempt holds the stream. Of two writers with the same
-- fence the one that opens the stream last holds it: the other's claim was lost. An expired stream that no sweep has
-- met yet is taken over like any other: its numbers go on.
CREATE OR REPLACE FUNCTION run_event_open(_run uuid, _fence integer, _epoch text, _ttl_ms double precision)
  RETURNS SETOF integer LANGUAGE sql AS $$
INSERT INTO run_event_streams AS s (run_id, fence, epoch, next_n, expires_at)
VALUES (_run, _fence, _epoch, 1, now() + _ttl_ms * interval '1 millisecond')
ON CONFLICT (run_id) DO UPDATE
  SET fence = excluded.fence, epoch = excluded.epoch, ended = false, expires_at = excluded.expires_at
  WHERE s.fence <= excluded.fence
RETURNING s.next_n
$$;
