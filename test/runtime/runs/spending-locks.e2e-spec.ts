import { expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { newId } from '../../../src/core/ids.js';
import { RunPosting } from '../../../src/runtime/runs/records/run-posting.js';
import type { RunClaim } from '../../../src/runtime/runs/records/run-attempt.js';
import { RunSpending } from '../../../src/runtime/runs/records/run-spending.js';
import { RunTurns } from '../../../src/runtime/runs/records/run-turns.js';
import { createAgent, createThread } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { waitingForLocks } from '../../support/locks.js';
import { useStarted } from '../../support/use-started.js';
import { newRunOf } from './runs.support.js';

const LIMIT = { usd_per_day: 10, usd_per_month: 10 };

const app = useStarted(() => startTestApp({ env: { ROLE: 'api' } }));

interface Spending {
  readonly database: DataSource;
  readonly spending: RunSpending;
  readonly organizationId: string;
  readonly claim: RunClaim;
}

/** A run that is being executed in an organization with a limit. */
async function startRun(): Promise<Spending> {
  const database = app.app.get(DataSource);
  const spending = app.app.get(RunSpending, { strict: false });
  const agentId = await createAgent(app);
  const request = await newRunOf(database, await createThread(app, agentId), agentId);
  const { organizationId } = request;
  await setLimit(database, organizationId);
  await app.app.get(RunPosting).postRun(request);
  const search = await app.app.get(RunTurns, { strict: false }).claimNextRun('e', [], 30_000);
  if (search.outcome !== 'claimed') throw new Error(search.outcome);
  const claim = { runId: search.run.id, attempt: search.run.attempt, epoch: 'e' };
  return { database, spending, organizationId, claim };
}

async function setLimit(database: DataSource, organizationId: string): Promise<void> {
  await database.query('UPDATE organizations SET limits = limits || $2 WHERE id = $1', [
    organizationId,
    { spend: LIMIT },
  ]);
}

it('a call locks the windows of the day before, of its day and of its month in the order of all others', async () => {
  const { database, spending, organizationId, claim } = await startRun();
  expect(await spending.reserve(claim, newId(), 'large', 1)).toBe(true);
  await database.query(`UPDATE spend_windows SET starts_at = starts_at - interval '1 day' WHERE period = 'day'`);

  const other = database.createQueryRunner();
  await other.startTransaction();
  const lockWindow = (period: string): Promise<unknown> =>
    other.query(`SELECT spend_window($1, 'organization', $1, $2)`, [organizationId, period]);
  await lockWindow('day');
  const reserved = spending.reserve(claim, newId(), 'large', 2);
  await eventually(async () => expect(await waitingForLocks(database)).toBe(1));
  await lockWindow('month');
  await other.commitTransaction();
  await other.release();
  expect(await reserved).toBe(true);
  const windows = await database.query(
    'SELECT period, used::float, reserved::float FROM spend_windows ORDER BY period, starts_at',
  );
  expect(windows).toEqual([
    { period: 'day', used: 1, reserved: 0 },
    { period: 'day', used: 0, reserved: 2 },
    { period: 'month', used: 1, reserved: 2 },
  ]);
});

it('a limit that is set again counts what was spent without it, although a call was made while it was cleared', async () => {
  const { database, spending, organizationId, claim } = await startRun();
  const [before, call] = [newId(), newId()];
  await spending.reserve(claim, before, 'large', 1);
  await spending.settle(claim, before, 1);
  const other = database.createQueryRunner();
  await other.startTransaction();
  await other.query("UPDATE organizations SET limits = limits - 'spend' WHERE id = $1", [organizationId]);
  const reserved = spending.reserve(claim, call, 'large', 1);
  await eventually(async () => expect(await waitingForLocks(database)).toBe(1));
  await other.commitTransaction();
  await other.release();
  await reserved;
  await spending.settle(claim, call, 1);
  await database.query('UPDATE runs SET cost_usd = 7 WHERE id = $1', [claim.runId]);
  await setLimit(database, organizationId);
  expect(await spending.reserve(claim, newId(), 'large', 2)).toBe(true);
  const windows = await database.query('SELECT used::float, reserved::float FROM spend_windows');
  expect(windows).toEqual([
    { used: 7, reserved: 2 },
    { used: 7, reserved: 2 },
  ]);
});
