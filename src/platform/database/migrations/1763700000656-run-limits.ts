import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The limits of concurrent and of waiting runs of an organization (`src/runtime/runs/records/`). */
export class RunLimits1763700000656 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(LIMIT);
    await queryRunner.query(HAS_ROOM);
    await queryRunner.query(HAS_WAITING_ROOM);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'DROP FUNCTION run_has_waiting_room; DROP FUNCTION run_has_room; DROP FUNCTION run_concurrency_limit',
    );
  }
}

// The lower of the organization's own limit and the operator's cap; null without either.
const LIMIT = `
  CREATE FUNCTION run_concurrency_limit(_organization uuid, _cap integer) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT least((SELECT (limits->>'concurrent_runs')::integer FROM organizations WHERE id = _organization), _cap)
  $$`;

// Can one more run of the organization start? The lock is held until the transaction ends, so that two claims do not take the same
// room. While there is clearly none, nobody waits for it. Expensive: the other conditions of a claim come first.
const HAS_ROOM = `
  CREATE FUNCTION run_has_room(_organization uuid, _cap integer) RETURNS boolean LANGUAGE plpgsql VOLATILE COST 10000 AS $$
  DECLARE
    _limit integer := run_concurrency_limit(_organization, _cap);
  BEGIN
    IF _limit IS NULL THEN
      RETURN true;
    END IF;
    IF (SELECT count(*) FROM runs WHERE organization_id = _organization AND status = 'running') >= _limit THEN
      RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('run_has_room:' || _organization, 0));
    RETURN (SELECT count(*) FROM runs WHERE organization_id = _organization AND status = 'running') < _limit;
  END
  $$`;

// Can one more run of the organization be posted, with at most `_waiting` runs beyond those that are in progress, or beyond the
// `_concurrent` that can be? The lock is held until the transaction ends, so that two requests do not take the same room.
const HAS_WAITING_ROOM = `
  CREATE FUNCTION run_has_waiting_room(_organization uuid, _waiting integer, _concurrent integer) RETURNS boolean
    LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    _max bigint;
  BEGIN
    FOR _try IN 1..2 LOOP
      IF _try = 2 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('run_has_waiting_room:' || _organization, 0));
      END IF;
      _max := _waiting::bigint + coalesce(
        _concurrent, (SELECT count(*) FROM runs WHERE organization_id = _organization AND status = 'running'));
      IF (SELECT count(*) FROM (
            SELECT FROM runs WHERE organization_id = _organization AND status IN ('queued', 'running') LIMIT _max) AS open) >= _max THEN
        RETURN false;
      END IF;
    END LOOP;
    RETURN true;
  END
  $$`;
