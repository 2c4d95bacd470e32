import type { MigrationInterface, QueryRunner } from 'typeorm';
import { FINISH } from './1763700000400-run-transactions.js';
import { type Change, replaced } from './1763700000540-run-turns.js';
import { FINISH_CHANGES_WITH_APPROVALS } from './1763700000674-approvals.js';

/** Prices of models, and what runs cost at the price of their time, with the times of their model calls. */
export class RunCosts1763700000690 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE model_tiers ADD COLUMN price jsonb;
      ALTER TABLE runs ADD COLUMN cost_usd double precision, ADD COLUMN model_calls json NOT NULL DEFAULT '[]'`);
    await queryRunner.query(DROP_FINISH);
    await queryRunner.query(replaced(FINISH, ...FINISH_CHANGES_WITH_APPROVALS, ...COST_CHANGES));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(DROP_FINISH);
    await queryRunner.query(replaced(FINISH, ...FINISH_CHANGES_WITH_APPROVALS));
    await queryRunner.query(`
      ALTER TABLE runs DROP COLUMN cost_usd, DROP COLUMN model_calls;
      ALTER TABLE model_tiers DROP COLUMN price`);
  }
}

const DROP_FINISH = 'DROP FUNCTION run_finish';

// With defaults, so that workers of the version before can still end their runs.
const COST_CHANGES: readonly Change[] = [
  [
    '_metadata json, _ordinal integer',
    '_metadata json, _ordinal integer, _cost double precision DEFAULT NULL, _model_calls json DEFAULT NULL',
  ],
  [
    'model = coalesce(_model, model),',
    `model = coalesce(_model, model),
          cost_usd = coalesce(_cost, cost_usd), model_calls = coalesce(_model_calls, model_calls),`,
  ],
];
