import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** Messages that a run takes while it is under way. */
export class Steering1763700009000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE runs
        ADD COLUMN steers integer NOT NULL DEFAULT 0,
        ADD COLUMN steers_taken integer NOT NULL DEFAULT 0;

      CREATE TABLE run_steers (
        id uuid PRIMARY KEY,
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        number integer NOT NULL,
        organization_id uuid NOT NULL,
        thread_id character varying(128) COLLATE "C" NOT NULL,
        user_id uuid,
        api_key_id uuid,
        grant_id uuid,
        request_id character varying(128) NOT NULL,
        tier character varying(16) NOT NULL,
        interrupts boolean NOT NULL,
        traceparent character varying(256),
        tracestate character varying(512),
        idempotency_key character varying(255),
        idempotency_hash character(64),
        created_at timestamp(3) with time zone NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX run_steers_number_idx ON run_steers (run_id, number);
      CREATE UNIQUE INDEX run_steers_idempotency_idx ON run_steers (organization_id, thread_id, idempotency_key)
        WHERE idempotency_key IS NOT NULL`);
    for (const name of FUNCTIONS) await createFunction(queryRunner, name);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP FUNCTION run_steer;
      DROP FUNCTION run_find_repeated;
      DROP FUNCTION run_post_steers;
      DROP FUNCTION run_steer_ordinal;
      DROP TABLE run_steers;
      ALTER TABLE runs DROP COLUMN steers, DROP COLUMN steers_taken`);
  }
}

const FUNCTIONS = [
  'run_find_repeated',
  'run_steer_ordinal',
  'run_post_steers',
  'run_steer',
  'run_finish',
  'run_post_and_start',
  'run_regenerate',
];
