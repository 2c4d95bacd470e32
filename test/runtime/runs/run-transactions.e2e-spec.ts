import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource, type QueryRunner } from 'typeorm';
import { newEpoch, newWorkerId } from '../../../src/core/epochs.js';
import { newId } from '../../../src/core/ids.js';
import type { ClaimedRun, NewRun } from '../../../src/runtime/runs/records/new-run.js';
import { LostAttempts } from '../../../src/runtime/runs/records/lost-attempts.js';
import { type RunClaim, StaleAttemptError } from '../../../src/runtime/runs/records/run-attempt.js';
import { RunCancelling } from '../../../src/runtime/runs/records/run-ending.js';
import { RunExecution } from '../../../src/runtime/runs/records/run-execution.js';
import { OvertakenError, RunPosting } from '../../../src/runtime/runs/records/run-posting.js';
import { RunTurns } from '../../../src/runtime/runs/records/run-turns.js';
import { createAgent, createThread } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { useStarted } from '../../support/use-started.js';
import { newRunOf } from './runs.support.js';

const ANSWER = {
  parts: [{ type: 'text' as const, text: 'yes' }],
  metadata: { n: 1 },
  step: 1,
  usage: usageOf(3),
  costUsd: 0.5,
  modelCalls: [],
};
const COMPLETED = { status: 'completed' as const, error: null, finishReason: 'stop' };
const FAILED = { status: 'failed' as const, error: { code: 'internal', message: 'no' }, finishReason: 'error' };
const SILENT_MS = 30_000;

const app = useStarted(() => startTestApp({ env: { ROLE: 'api' } }));
let database: DataSource;
let posting: RunPosting;
let execution: RunExecution;
let agentId: string;
let otherAgentId: string;
let request: NewRun;

// Nobody executes what is posted here.
beforeAll(async () => {
  database = app.app.get(DataSource);
  posting = app.app.get(RunPosting);
  execution = app.app.get(RunExecution);
  agentId = await createAgent(app);
  otherAgentId = await createAgent(app);
});

beforeEach(async () => {
  // Other tests leave runs open, which would be claimed first.
  await database.query(`UPDATE runs SET status = 'cancelled' WHERE status IN ('queued', 'running')`);
  request = await newRunOf(database, await createThread(app, agentId), agentId);
});

describe('posting at once', () => {
  it('orders the runs and makes one of them the head', async () => {
    const posted = await Promise.all(Array.from({ length: 20 }, () => posting.postRun(another())));
    expect(posted.filter(({ isHead }) => isHead)).toHaveLength(1);
    const rows: { id: string }[] = await runsInOrder();
    expect(rows[0]?.id).toBe(posted.find(({ isHead }) => isHead)?.runId);
    expect(rows.map(({ id }) => id).toSorted()).toEqual(posted.map(({ runId }) => runId).toSorted());
  });

  it('runs one request of those with the same idempotency key, and refuses another body', async () => {
    const idempotency = { key: 'k', hash: 'a'.repeat(64) };
    const posted = await Promise.all(Array.from({ length: 10 }, () => posting.postRun({ ...another(), idempotency })));
    expect(new Set(posted.map(({ runId }) => runId)).size).toBe(1);
    expect(posted.filter(({ isHead }) => isHead)).toHaveLength(1);
    const changed = { ...another(), idempotency: { key: 'k', hash: 'b'.repeat(64) } };
    await expect(posting.postRun(changed)).rejects.toMatchObject({ code: 'idempotency_conflict' });
    expect(await runsInOrder()).toHaveLength(1);
    await database.query(`UPDATE runs SET created_at = now() - interval '25 hours' WHERE thread_id = $1`, [
      request.threadId,
    ]);
    expect((await posting.postRun(changed)).runId).not.toBe(posted[0]?.runId);
  });

  it('lets 100 runs wait and no more', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 105 }, () => posting.postRun(another())));
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(5);
    expect(refused[0]).toMatchObject({ reason: { code: 'too_many_runs' } });
    expect(await runsInOrder()).toHaveLength(100);
  });

  it('stores nothing of a request whose message id is taken', async () => {
    const outcomes = await Promise.allSettled([posting.postRun(request), posting.postRun(request)]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'conflict' } });
    expect(await runsInOrder()).toHaveLength(1);
  });

  it.each([
    ['an id that no thread has', () => ({ threadId: newId() }), 'thread_not_found'],
    ['an id that no text in the database can be', () => ({ threadId: 'a\u0000b' }), 'thread_not_found'],
    ['the thread of another organization', () => ({ organizationId: newId() }), 'thread_not_found'],
    ['an agent that does not exist', () => ({ agentId: newId() }), 'agent_not_found'],
    ['another agent', () => ({ agentId: otherAgentId }), 'agent_mismatch'],
  ])('refuses %s', async (_, change, code) => {
    await expect(posting.postRun({ ...request, ...change() })).rejects.toMatchObject({ code });
    expect(await runsInOrder()).toEqual([]);
    expect(await threadStatus()).toBe('completed');
  });
});

describe('posting after a run', () => {
  it('is refused if that is not the last one of the thread', async () => {
    const none = posting.postRun({ ...another(), follows: newId() });
    await expect(none).rejects.toThrow(OvertakenError);
    const { runId: follows } = await posting.postRun(another());
    const posted = await Promise.allSettled(
      Array.from({ length: 5 }, () => posting.postRun({ ...another(), follows, metadata: { n: 'taken' } })),
    );
    expect(posted.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const late = posting.postRun({ ...another(), follows, metadata: { n: 'refused' } });
    await expect(late).rejects.toThrow(OvertakenError);
    expect(await runsInOrder()).toMatchObject([{ id: follows }, { metadata: { n: 'taken' } }]);
    expect(await threadMetadata()).toEqual({ n: 'taken' });
  });
});

describe('posting with metadata', () => {
  it('changes those of the thread, which this run and later ones get', async () => {
    const metadata = { n: 'new' };
    await posting.postRun(another());
    await posting.postRun({ ...another(), metadata });
    await posting.postRun(another());
    expect(await runsInOrder()).toMatchObject([{ metadata: {} }, { metadata }, { metadata }]);
    expect(await threadMetadata()).toEqual(metadata);
  });
});

describe('posting with an epoch', () => {
  it('starts the first open run of the thread, and names the run before', async () => {
    const { runId, isHead, started } = await posting.postRun(another(), { epoch: 'e1' });
    expect(started).toMatchObject({ id: runId, status: 'running', attempt: 1, epoch: 'e1', previousId: null });
    expect(started).toMatchObject({
      tier: 'smart',
      hasLostCredential: false,
      isLimited: false,
      startedAt: expect.any(Date),
    });
    expect(isHead).toBe(true);
    const behind = await posting.postRun(another(), { epoch: 'e2' });
    expect(behind).toMatchObject({ isHead: false, started: undefined });
    expect(await runsInOrder()).toMatchObject([{ status: 'running' }, { status: 'queued' }]);
    await execution.finish({ runId, attempt: 1, epoch: 'e1' }, null, ANSWER, COMPLETED);
    expect(await claimNext('e3')).toMatchObject({ id: behind.runId, attempt: 1 });
    await execution.finish({ runId: behind.runId, attempt: 1, epoch: 'e3' }, null, ANSWER, COMPLETED);
    const last = await posting.postRun(another(), { epoch: 'e4' });
    expect(last.started?.previousId).toBe(behind.runId);
  });

  it('starts one of those that are posted at once', async () => {
    const posted = await Promise.all(
      Array.from({ length: 10 }, (_, i) => posting.postRun(another(), { epoch: `e${i}` })),
    );
    expect(posted.filter(({ started }) => started !== undefined)).toHaveLength(1);
    expect(posted.filter(({ isHead }) => isHead)).toEqual(posted.filter(({ started }) => started !== undefined));
  });

  it('queues the run while its organization has no room', async () => {
    await database.query(
      `UPDATE organizations SET limits = jsonb_build_object(
         'concurrent_runs', 1 + (SELECT count(*) FROM runs WHERE organization_id = $1 AND status = 'running')) WHERE id = $1`,
      [request.organizationId],
    );
    try {
      const { started } = await posting.postRun(another(), { epoch: 'e1' });
      expect(started?.isLimited).toBe(true);
      const threadId = await createThread(app, agentId);
      expect(await posting.postRun({ ...another(), threadId }, { epoch: 'e2' })).toMatchObject({
        isHead: true,
        started: undefined,
      });
    } finally {
      await database.query(`UPDATE organizations SET limits = '{}' WHERE id = $1`, [request.organizationId]);
    }
  });
});

describe('claiming', () => {
  it('lets one attempt through, when it is its turn, and names the run before', async () => {
    const first = await posting.postRun(another());
    const second = await posting.postRun(another());
    const claims = Array.from({ length: 5 }, () => claimNext('first'));
    const claimed = (await Promise.all(claims)).filter((run) => run !== undefined);
    expect(claimed).toMatchObject([{ id: first.runId, attempt: 1, status: 'running', previousId: null }]);
    expect(await claimNext('first')).toBeUndefined();
    await execution.finish(firstClaim(first.runId), 'm', ANSWER, COMPLETED);
    expect(await claimNext('first')).toMatchObject({ id: second.runId, previousId: first.runId });
  });
});

describe('a lost run whose row is locked by a transaction that hangs', () => {
  let hanging: QueryRunner;
  let lost: string;

  beforeEach(async () => {
    lost = (await posting.postRun(another())).runId;
    await claimNext('first');
    hanging = database.createQueryRunner();
  });
  afterEach(async () => {
    if (hanging.isTransactionActive) await hanging.rollbackTransaction();
    await hanging.release();
  });

  async function hang(): Promise<void> {
    await hanging.startTransaction();
    await hanging.query('SELECT FROM runs WHERE id = $1 FOR NO KEY UPDATE', [lost]);
  }

  it('does not keep other runs from being claimed, and is claimed afterwards', async () => {
    await database.query(`UPDATE runs SET heartbeat_at = '-infinity' WHERE id = $1`, [lost]);
    const { runId } = await posting.postRun(await inAnotherThread());
    await hang();
    expect((await claimNext('second'))?.id).toBe(runId);
    await hanging.rollbackTransaction();
    expect(await claimNext('third')).toMatchObject({ id: lost, attempt: 2 });
  });

  it('does not keep other runs of its worker from being given up', async () => {
    await posting.postRun(await inAnotherThread());
    const other = await claimNext('second');
    await database.query('UPDATE runs SET epoch = $2 WHERE id = ANY($1)', [[lost, other?.id], newEpoch(newWorkerId())]);
    const attempts = app.app.get(LostAttempts, { strict: false });
    const suspects = await attempts.find();
    expect(suspects).toHaveLength(2);
    await hang();
    expect(await attempts.giveUp(suspects)).toEqual([{ runId: other?.id, attempt: 1 }]);
    await hanging.rollbackTransaction();
    expect(await attempts.giveUp(suspects)).toEqual([{ runId: lost, attempt: 1 }]);
  });

  it('is unlocked once the transaction has done nothing for 15 s', async () => {
    expect(await hanging.query('SHOW idle_in_transaction_session_timeout')).toEqual([
      { idle_in_transaction_session_timeout: '15s' },
    ]);
  });
});

describe('finishing', () => {
  let claim: RunClaim;

  beforeEach(async () => {
    const { runId } = await posting.postRun(request);
    claim = firstClaim(runId);
    expect(await claimNext('first')).toMatchObject({ id: runId, attempt: 1 });
  });

  it('stores the answer, ends the run and hands the thread to the next run', async () => {
    await posting.postRun(another());
    expect(await execution.finish(claim, 'm', ANSWER, COMPLETED)).toBe(true);
    expect(await threadStatus()).toBe('in_progress');
    expect(await runsInOrder()).toMatchObject([
      {
        status: 'completed',
        step: 1,
        usage: ANSWER.usage,
        cost_usd: 0.5,
        model: 'm',
        finish_reason: 'stop',
        error: null,
      },
      { status: 'queued' },
    ]);
    expect(await answers()).toEqual([{ run_id: claim.runId, parts: ANSWER.parts, metadata: ANSWER.metadata }]);
  });

  it('answers a repeated call alike, and leaves the thread as later runs have left it', async () => {
    const next = await posting.postRun(another());
    const ended = await execution.finish(claim, 'm', ANSWER, COMPLETED);
    expect([ended, await execution.finish(claim, 'm', ANSWER, COMPLETED)]).toEqual([true, true]);
    await claimNext('first');
    await execution.finish(firstClaim(next.runId), 'm', ANSWER, FAILED);
    expect(await execution.finish(claim, 'm', ANSWER, COMPLETED)).toBe(false);
    expect(await threadStatus()).toBe('failed');
    expect(await answers()).toHaveLength(2);
  });

  it('is refused to an attempt that is not the current one, and changes nothing', async () => {
    await execution.release(claim);
    expect(await claimNext('first')).toMatchObject({ attempt: 2 });
    for (const attempt of [1, 3]) {
      await expect(execution.finish({ ...claim, attempt }, 'm', ANSWER, COMPLETED)).rejects.toThrow(StaleAttemptError);
    }
    await execution.finish({ ...claim, attempt: 2 }, 'm', ANSWER, COMPLETED);
    await expect(execution.finish({ ...claim, attempt: 2 }, 'm', ANSWER, FAILED)).rejects.toThrow(StaleAttemptError);
    expect(await runsInOrder()).toMatchObject([{ status: 'completed', attempt: 2 }]);
  });

  it('is refused to a claim that was lost and made again, as every other write is', async () => {
    await database.query(`UPDATE runs SET status = 'queued', attempt = 0 WHERE id = $1`, [claim.runId]);
    const again = { ...claim, epoch: 'again' };
    expect(await claimNext('again')).toMatchObject({ id: claim.runId, attempt: 1 });
    await expect(execution.saveAnswer(claim, 'm', ANSWER)).rejects.toThrow(StaleAttemptError);
    await expect(execution.finish(claim, 'm', ANSWER, COMPLETED)).rejects.toThrow(StaleAttemptError);
    expect(await execution.heartbeat([claim])).toEqual({ cancelled: [], stale: [claim], steered: [] });
    expect(await execution.yield(claim)).toBe(false);
    await execution.release(claim);
    expect(await runsInOrder()).toMatchObject([{ status: 'running', attempt: 1, yields: 0 }]);
    expect(await answers()).toEqual([]);
    expect(await execution.heartbeat([again])).toEqual({ cancelled: [], stale: [], steered: [] });
    await execution.finish(again, 'm', ANSWER, COMPLETED);
    await expect(execution.finish(claim, 'm', ANSWER, COMPLETED)).rejects.toThrow(StaleAttemptError);
  });

  it('ends a queued run without an answer, and no run that has started', async () => {
    const cancelling = app.app.get(RunCancelling);
    const { runId } = await posting.postRun(another());
    expect(await cancelling.cancelQueued(claim.runId)).toBeUndefined();
    const ended = await cancelling.cancelQueued(runId);
    expect(ended).toMatchObject({ run: { id: runId, threadId: request.threadId, attempt: 1 }, hasNext: false });
    expect(await cancelling.cancelQueued(runId)).toBeUndefined();
    expect(await claimNext('first')).toBeUndefined();
    expect(await threadStatus()).toBe('in_progress');
    expect(await answers()).toEqual([]);
  });
});

/** The same request with a message of its own. */
function another(): NewRun {
  return { ...request, messages: request.messages.map((message) => ({ ...message, id: newId() })) };
}

async function inAnotherThread(): Promise<NewRun> {
  return { ...another(), threadId: await createThread(app, agentId) };
}

/** Claims the run whose turn it is. */
async function claimNext(epoch: string): Promise<ClaimedRun | undefined> {
  const search = await app.app.get(RunTurns).claimNextRun(epoch, [], SILENT_MS);
  return search.outcome === 'claimed' ? search.run : undefined;
}

function firstClaim(runId: string): RunClaim {
  return { runId, attempt: 1, epoch: 'first' };
}

function usageOf(tokens: number) {
  return { inputTokens: tokens, outputTokens: tokens, totalTokens: 2 * tokens };
}

function runsInOrder(): Promise<{ id: string }[]> {
  return database.query('SELECT * FROM runs WHERE thread_id = $1 ORDER BY position', [request.threadId]);
}

function answers(): Promise<unknown[]> {
  return database.query(
    `SELECT run_id, parts, metadata FROM messages WHERE thread_id = $1 AND role = 'assistant' ORDER BY run_position`,
    [request.threadId],
  );
}

async function threadStatus(): Promise<string | undefined> {
  return (await findThread())?.status;
}

async function threadMetadata(): Promise<unknown> {
  return (await findThread())?.metadata;
}

async function findThread(): Promise<{ status: string; metadata: unknown } | undefined> {
  const rows: { status: string; metadata: unknown }[] = await database.query(
    'SELECT status, metadata FROM threads WHERE id = $1',
    [request.threadId],
  );
  return rows[0];
}
