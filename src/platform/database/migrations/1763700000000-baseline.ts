import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';
import { DatabaseVersionError } from './database-version.js';

/** The names of the migrations that the baseline replaces, as a digest, and the time of the last one. */
const REPLACED = { until: 1763700000761, digest: '47f92e26bd3c412a92fed6be12a365d3' };

const FUNCTIONS = [
  'api_key_line',
  'connection_status_since',
  'json_octets',
  'keep_name',
  'message_measure',
  'run_concurrency_limit',
  'run_event_append',
  'run_event_open',
  'run_event_start',
  'run_finish',
  'run_has_room',
  'run_has_waiting_room',
  'run_post_and_start',
  'run_regenerate',
  'run_wait',
  'webhook_approval_requested',
  'webhook_record',
  'webhook_run_ended',
];

/**
 * The schema of the first release. A database that has all migrations of the time before has the same tables: it only
 * gets the present functions. Functions are created as their files have them now, so their bodies may refer to what a
 * later migration adds.
 */
export class Baseline1763700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    if (await hasReplacedMigrations(queryRunner)) await forgetReplaced(queryRunner);
    else await queryRunner.query(await readFile(join(import.meta.dirname, '1763700000000-baseline.sql'), 'utf8'));
    await queryRunner.query('SET LOCAL check_function_bodies = off');
    for (const name of FUNCTIONS) await createFunction(queryRunner, name);
  }

  async down(): Promise<void> {
    throw new Error('There is no schema before the baseline. Drop the database instead.');
  }
}

/** @throws DatabaseVersionError if the database has only some of them */
async function hasReplacedMigrations(queryRunner: QueryRunner): Promise<boolean> {
  const [found]: { digest: string | null; last: string | null }[] = await queryRunner.query(
    `SELECT md5(string_agg(name, ' ' ORDER BY name COLLATE "C")) AS digest,
            (array_agg(name ORDER BY timestamp DESC))[1] AS last
       FROM migrations WHERE timestamp <= $1`,
    [REPLACED.until],
  );
  if (found?.digest === REPLACED.digest) return true;
  if (found?.digest == null) return false;
  throw new DatabaseVersionError(
    `The database has the schema of an earlier development version of Signalbox, up to ${found.last}. Run ` +
      '`npm run migration:run` of commit 9a645dc on it first, or use an empty database.',
  );
}

/** Drops the functions that are gone or have other arguments now; the baseline creates the others again. */
async function forgetReplaced(queryRunner: QueryRunner): Promise<void> {
  await queryRunner.query('DROP FUNCTION run_post, run_post_and_start, run_regenerate, run_finish');
  await queryRunner.query('DELETE FROM migrations WHERE timestamp <= $1', [REPLACED.until]);
}
