import type { MigrationInterface, QueryRunner } from 'typeorm';
import { APPEND as APPEND_WITHOUT_EPOCH, OPEN as OPEN_WITHOUT_EPOCH } from './1763700000100-run-events.js';
import { START as START_WITHOUT_EPOCH } from './1763700000410-run-event-start.js';

/**
 * Streams and batches say which writer they are of. After a crash of the database, whose last moments the event bus does not wait
 * to see on disk, numbers are used again that readers have already: the epoch tells those frames apart. It also tells the writers
 * apart, since the attempt's number can be given twice.
 */
export class RunEventEpochs1763700000530 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP FUNCTION run_event_start(text, uuid, integer, integer, text, boolean, double precision, text);
      DROP FUNCTION run_event_append(text, uuid, integer, integer, integer, text, boolean, double precision);
      DROP FUNCTION run_event_open(uuid, integer, double precision);
      ALTER TABLE run_event_streams ADD epoch text NOT NULL DEFAULT '';
      ALTER TABLE run_event_streams ALTER epoch DROP DEFAULT;
      ALTER TABLE run_event_batches ADD epoch text NOT NULL DEFAULT '';
      ALTER TABLE run_event_batches ALTER epoch DROP DEFAULT`);
    await queryRunner.query(OPEN);
    await queryRunner.query(APPEND);
    await queryRunner.query(START);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP FUNCTION run_event_start, run_event_append, run_event_open;
      ALTER TABLE run_event_batches DROP epoch;
      ALTER TABLE run_event_streams DROP epoch`);
    await queryRunner.query(OPEN_WITHOUT_EPOCH);
    await queryRunner.query(APPEND_WITHOUT_EPOCH);
    await queryRunner.query(START_WITHOUT_EPOCH);
  }
}

// Answers the next free frame number, or no row when a later attempt holds the stream. Of two writers with the same fence the one
// that opens the stream last holds it: the other's claim was lost.
// An expired stream that no sweep has met yet is taken over like any other: its numbers go on.
const OPEN = `
  CREATE FUNCTION run_event_open(_run uuid, _fence integer, _epoch text, _ttl_ms double precision) RETURNS SETOF integer
  LANGUAGE sql AS $$
    INSERT INTO run_event_streams AS s (run_id, fence, epoch, next_n, expires_at)
    VALUES (_run, _fence, _epoch, 1, now() + _ttl_ms * interval '1 millisecond')
    ON CONFLICT (run_id) DO UPDATE
      SET fence = excluded.fence, epoch = excluded.epoch, ended = false, expires_at = excluded.expires_at
      WHERE s.fence <= excluded.fence
    RETURNING s.next_n
  $$;
`;

// Stores one batch and signals it when the transaction commits. True also for a batch that is already stored (a retry
// whose first answer was lost); false when the writer is fenced off or the batch does not continue the stream.
// A notification's payload must stay below 8000 bytes: a larger batch is announced by the run's id alone.
const APPEND = `
  CREATE FUNCTION run_event_append(
    _channel text, _run uuid, _fence integer, _epoch text, _first integer, _count integer, _frames text, _end boolean,
    _ttl_ms double precision
  ) RETURNS boolean
  LANGUAGE plpgsql AS $$
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
          WHERE run_id = _run AND last_n = _first + _count - 1 AND first_n = _first AND epoch = _epoch AND frames = _frames
      )
    );
  END
  $$;
`;

// True when the stream is new, or when it is this writer's and holds exactly these frames (a retry whose first answer was lost).
// The signal names the run that the thread's readers had before it (`_follows`; '-' for none, NULL for not known).
const START = `
  CREATE FUNCTION run_event_start(
    _channel text, _run uuid, _fence integer, _epoch text, _count integer, _frames text, _end boolean, _ttl_ms double precision,
    _follows text
  ) RETURNS boolean
  LANGUAGE plpgsql AS $$
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
`;
