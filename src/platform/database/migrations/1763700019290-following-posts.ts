import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** A post can name the run that it follows, and change the metadata of its thread. */
export class FollowingPosts1763700019290 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    // By its arguments: an earlier migration may just have made the present function beside it.
    await queryRunner.query(`
      DROP FUNCTION IF EXISTS run_post_and_start(
        uuid, text, uuid, uuid, uuid, uuid, text, text, double precision, json, text, text, text, integer, integer,
        integer, integer, text, text, text, integer, text, integer, integer, uuid)`);
    await createFunction(queryRunner, 'run_post_and_start');
  }

  async down(): Promise<void> {
    // Earlier versions can call it, because the new arguments have defaults.
  }
}
