import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The PostgreSQL side of the run event bus (`src/runtime/events/`): one row per stream, one row per batch of frames, and the two
 * functions that keep a write at one round trip. A buffer, not the system of record: rows live about five minutes
 * after their run's end.
 */
export class RunEvents1763700000100 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(TABLES);
    await queryRunner.query(OPEN);
    await queryRunner.query(APPEND);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP FUNCTION run_event_append, run_event_open;
      DROP TABLE run_event_batches, run_event_streams`);
  }
}

// `run_event_streams` has no index beside its key and spare room on its pages: every append updates its row, and so the
// update stays on the page (HOT). The sweep reads the table from end to end; it holds one narrow row for each run of the last minutes.
// `frames` are the frames' JSON texts joined by U+001E, which cannot occur inside JSON text. Big values are kept
// uncompressed: they live for minutes and compressing would hold up the write.
const TABLES = `
  CREATE TABLE run_event_streams (
    run_id uuid PRIMARY KEY,
    fence integer NOT NULL,
    next_n integer NOT NULL,
    ended boolean NOT NULL DEFAULT false,
    expires_at timestamptz NOT NULL
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
  CREATE TABLE run_event_batches (
    run_id uuid NOT NULL,
    first_n integer NOT NULL,
    last_n integer NOT NULL,
    frames text NOT NULL,
    PRIMARY KEY (run_id, last_n),
    CHECK (last_n - first_n BETWEEN 0 AND 255)
  ) WITH (autovacuum_vacuum_scale_factor = 0.05);
  ALTER TABLE run_event_batches ALTER COLUMN frames SET STORAGE EXTERNAL;
`;

// Answers the next free frame number, or no row when a later attempt holds the stream.
// An expired stream that no sweep has met yet is taken over like any other: its numbers go on.
export const OPEN = `
  CREATE FUNCTION run_event_open(_run uuid, _fence integer, _ttl_ms double precision) RETURNS SETOF integer
  LANGUAGE sql AS $$
    INSERT INTO run_event_streams AS s (run_id, fence, next_n, expires_at)
    VALUES (_run, _fence, 1, now() + _ttl_ms * interval '1 millisecond')
    ON CONFLICT (run_id) DO UPDATE
      SET fence = excluded.fence, ended = false, expires_at = excluded.expires_at
      WHERE s.fence <= excluded.fence
    RETURNING s.next_n
  $$;
`;

// Stores one batch and signals it when the transaction commits. True also for a batch that is already stored (a retry
// whose first answer was lost); false when the writer is fenced off or the batch does not continue the stream.
// A notification's payload must stay below 8000 bytes: a larger batch is announced by the run's id alone.
export const APPEND = `
  CREATE FUNCTION run_event_append(
    _channel text, _run uuid, _fence integer, _first integer, _count integer, _frames text, _end boolean, _ttl_ms double precision
  ) RETURNS boolean
  LANGUAGE plpgsql AS $$
  DECLARE
    _payload text;
  BEGIN
    UPDATE run_event_streams
      SET next_n = _first + _count, ended = _end, expires_at = now() + _ttl_ms * interval '1 millisecond'
      WHERE run_id = _run AND fence = _fence AND next_n = _first AND NOT ended;
    IF FOUND THEN
      IF _count > 0 THEN
        INSERT INTO run_event_batches (run_id, first_n, last_n, frames) VALUES (_run, _first, _first + _count - 1, _frames);
      END IF;
      _payload := _run || ' ' || _first || ' ' || _end::integer || chr(30) || _frames;
      PERFORM pg_notify(_channel, CASE WHEN octet_length(_payload) < 8000 THEN _payload ELSE _run::text END);
      RETURN true;
    END IF;
    RETURN EXISTS (
      SELECT FROM run_event_streams
        WHERE run_id = _run AND fence = _fence AND next_n >= _first + _count AND (ended OR NOT _end)
    ) AND (
      _count = 0 OR EXISTS (
        SELECT FROM run_event_batches
          WHERE run_id = _run AND last_n = _first + _count - 1 AND first_n = _first AND frames = _frames
      )
    );
  END
  $$;
`;
