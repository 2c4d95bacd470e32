import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import type { McpUpstream, UpstreamTool } from '../../../src/boot/testing/mcp-upstream.js';
import { connect, type OpenedStream, succeed, ThreadClient } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { eventually } from '../../support/eventually.js';
import { type ServiceProcess, startWorkerProcess } from '../../support/service-process.js';
import { toolPartsOf } from '../runs/runs.support.js';
import {
  answer,
  createAskingAgent,
  SCRIPTED,
  startUpstream,
  useScriptedModel,
  validated,
} from './approvals.support.js';

/** For what waits for processes on a busy machine. */
const START_MS = 60_000;
const PATIENCE_MS = 120_000;
const ENV = {
  RUN_LOCK_MS: '2000',
  ENCRYPTION_KEYS: generateEncryptionKey('restarts'),
  UPSTREAM_ALLOW_PRIVATE: 'true',
};
const YES = { approved: true };
const SEND = { name: 'send', arguments: {} };
const LOOK = { name: 'look', arguments: {} };

let database: TestDatabase;
let api: TestService;
let model: FakeOpenAI;
let upstream: McpUpstream;
let agentId: string;
/** A process of its own, which a test leaves to the next one. */
let worker: ServiceProcess | undefined;
const original: Record<string, UpstreamTool> = {};

beforeAll(async () => {
  database = await createTestDatabase();
  [api, model, upstream] = await Promise.all([
    startTestService({ database, env: { ...ENV, ROLE: 'api' } }),
    startFakeOpenAI(),
    startUpstream(),
  ]);
  Object.assign(original, upstream.tools);
  await useScriptedModel(api, model);
  agentId = await createAskingAgent(api, await connect(api, upstream.url), ['send', 'wipe']);
}, START_MS);

beforeEach(() => {
  upstream.calls.length = 0;
  Object.assign(upstream.tools, original);
});

afterAll(async () => {
  await endWorker('SIGKILL');
  await api?.close();
  await model?.close();
  await upstream?.close();
  await database?.drop();
});

/** Starts the worker unless it runs. */
async function startWorker(): Promise<void> {
  worker ??= await startWorkerProcess({ ...ENV, DATABASE_URL: database.url });
}

async function endWorker(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  await worker?.kill(signal);
  worker = undefined;
}

/** Lets the tool begin its work and never answer. */
function hang(name: string): void {
  const tool = original[name];
  if (tool) upstream.tools[name] = { ...tool, handler: () => new Promise(() => undefined) };
}

const callsOf = (name: string): number => upstream.calls.filter(({ tool }) => tool === name).length;
const query = (text: string, values: unknown[] = []) => api.query(text, values);

/** A run whose reader is there from the beginning, through everything. */
class WatchedRun {
  private constructor(
    readonly thread: ThreadClient,
    readonly taskId: string,
    private readonly stream: OpenedStream,
  ) {}

  static async start(...calls: { name: string; arguments: object }[]): Promise<WatchedRun> {
    model.script({ kind: 'tool-calls', calls });
    const thread = await ThreadClient.create(api, agentId);
    const stream = await thread.stream();
    return new WatchedRun(thread, await thread.postMessage('Go', SCRIPTED), stream);
  }

  /** The id of its only pending approval. */
  approvalId(): Promise<string> {
    return eventually(async () => (await this.thread.run(this.taskId)).pending_approvals[0]?.id ?? false);
  }

  async waits(): Promise<string> {
    await this.thread.waitFor(this.taskId, 'waiting');
    return this.approvalId();
  }

  async approve(id: string): Promise<void> {
    await answer(api, this.thread.id, id, YES).expect(202);
  }

  /** The states of its calls, after its end was checked: one answer, one stream that folds into it, nothing pending. */
  async end(status = 'completed'): Promise<unknown[]> {
    const collected = await this.stream.collectUntilDone(PATIENCE_MS);
    const message = await this.thread.expectWhole(this.taskId, collected);
    expect(await this.thread.run(this.taskId)).toMatchObject({ status, pending_approvals: [] });
    await validated(message);
    return toolPartsOf(message.parts).map((part) => 'state' in part && part.state);
  }
}

/** A lock in the database that makes workers wait at a certain write. */
class Barrier {
  private constructor(private readonly client: Client) {}

  /** Takes the lock with this statement. */
  static async raise(statement: string, values: unknown[] = []): Promise<Barrier> {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query('BEGIN');
    await client.query(statement, values);
    return new Barrier(client);
  }

  /** Ends the connections of the killed worker that wait: their statements would otherwise be executed now. */
  async dropAfterKill(): Promise<void> {
    const { rows } = await this.client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pg_blocking_pids(pid) @> ARRAY[$1::int]',
      [rows[0]?.pid],
    );
    await this.drop();
  }

  async drop(): Promise<void> {
    await this.client.query('ROLLBACK');
    await this.client.end();
  }
}

/** Deletes the jobs of the queue, of which there is at least one. */
async function loseJobs(): Promise<void> {
  const lost: unknown[] = await query('WITH lost AS (DELETE FROM bullmq.job RETURNING id) SELECT id FROM lost');
  expect(lost).not.toEqual([]);
}

const isBlocked = async (): Promise<boolean> => {
  const rows: unknown[] = await query(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return rows.length > 0;
};

describe('nothing is lost and nothing happens twice when the worker is killed', () => {
  it(
    'while it stores the step with the request: the step is made again',
    async () => {
      await startWorker();
      const barrier = await Barrier.raise('LOCK TABLE run_approvals IN SHARE MODE');
      const run = await WatchedRun.start(SEND);
      await eventually(isBlocked);
      await endWorker('SIGKILL');
      await barrier.dropAfterKill();
      model.script({ kind: 'tool-calls', calls: [SEND] });
      await startWorker();
      await run.approve(await run.waits());
      expect(await run.end()).toEqual(['output-available']);
      expect(callsOf('send')).toBe(1);
      const rows: unknown[] = await query('SELECT id FROM run_approvals WHERE run_id = $1', [run.taskId]);
      expect(rows).toHaveLength(1);
    },
    PATIENCE_MS,
  );

  it(
    'after the request is stored, before it is streamed',
    async () => {
      await startWorker();
      const storing = await Barrier.raise('LOCK TABLE run_approvals IN SHARE MODE');
      const run = await WatchedRun.start(SEND);
      await eventually(isBlocked);
      const streaming = await Barrier.raise('SELECT FROM run_event_streams WHERE run_id = $1 FOR UPDATE', [run.taskId]);
      await storing.drop();
      const id = await run.approvalId();
      await eventually(isBlocked);
      await endWorker('SIGKILL');
      await streaming.dropAfterKill();
      await startWorker();
      expect(await run.waits()).toBe(id);
      await run.approve(id);
      expect(await run.end()).toEqual(['output-available']);
      expect(callsOf('send')).toBe(1);
    },
    PATIENCE_MS,
  );

  it(
    'after the approval was requested, before the run waits',
    async () => {
      await startWorker();
      hang('look');
      const run = await WatchedRun.start(LOOK, SEND);
      const id = await run.approvalId();
      await eventually(() => expect(callsOf('look')).toBe(1));
      await endWorker('SIGKILL');
      Object.assign(upstream.tools, original);
      await startWorker();
      expect(await run.waits()).toBe(id);
      await run.approve(id);
      expect(await run.end()).toEqual(['output-available', 'output-available']);
      expect(callsOf('send')).toBe(1);
    },
    PATIENCE_MS,
  );

  it(
    'when the request is answered before the run waits',
    async () => {
      await startWorker();
      hang('look');
      const run = await WatchedRun.start(LOOK, SEND);
      await run.approve(await run.approvalId());
      await eventually(() => expect(callsOf('look')).toBe(1));
      await endWorker('SIGKILL');
      Object.assign(upstream.tools, original);
      await startWorker();
      expect(await run.end()).toEqual(['output-available', 'output-available']);
      expect(callsOf('send')).toBe(1);
    },
    PATIENCE_MS,
  );

  it(
    'while it stores that the run waits',
    async () => {
      await startWorker();
      const waiting = Promise.withResolvers<string>();
      const { look } = original;
      if (look) upstream.tools['look'] = { ...look, handler: () => waiting.promise };
      const run = await WatchedRun.start(LOOK, SEND);
      const id = await run.approvalId();
      await eventually(() => expect(callsOf('look')).toBe(1));
      // The next write to the run's row is the one that stores the other call's outcome, then the waiting.
      const barrier = await Barrier.raise('SELECT FROM runs WHERE id = $1 FOR UPDATE', [run.taskId]);
      waiting.resolve('seen');
      await eventually(isBlocked);
      await endWorker('SIGKILL');
      await barrier.dropAfterKill();
      await startWorker();
      expect(await run.waits()).toBe(id);
      await run.approve(id);
      expect(await run.end()).toEqual(['output-available', 'output-available']);
      expect(callsOf('send')).toBe(1);
    },
    PATIENCE_MS,
  );

  it(
    'after the wait is stored',
    async () => {
      await startWorker();
      const run = await WatchedRun.start(SEND);
      const id = await run.waits();
      await endWorker('SIGKILL');
      // Answered while there is no worker at all.
      await run.approve(id);
      await startWorker();
      expect(await run.end()).toEqual(['output-available']);
      expect(callsOf('send')).toBe(1);
    },
    PATIENCE_MS,
  );

  it(
    'after the answer is stored, and the job of the continuation is lost',
    async () => {
      await startWorker();
      const run = await WatchedRun.start(SEND);
      const id = await run.waits();
      await endWorker('SIGKILL');
      await run.approve(id);
      await loseJobs();
      await startWorker();
      expect(await run.end()).toEqual(['output-available']);
      expect(callsOf('send')).toBe(1);
    },
    PATIENCE_MS,
  );

  it(
    'after the continuation began, before the approved call is made',
    async () => {
      await startWorker();
      const run = await WatchedRun.start(SEND);
      const id = await run.waits();
      await endWorker('SIGTERM');
      await run.approve(id);
      const barrier = await Barrier.raise('SELECT FROM run_approvals WHERE id = $1 FOR UPDATE', [id]);
      await startWorker();
      await eventually(isBlocked);
      expect(callsOf('send')).toBe(0);
      await endWorker('SIGKILL');
      await barrier.dropAfterKill();
      await startWorker();
      expect(await run.end()).toEqual(['output-available']);
      expect(callsOf('send')).toBe(1);
    },
    PATIENCE_MS,
  );

  it(
    'while the approved call is made: it is not made again',
    async () => {
      await startWorker();
      hang('send');
      const run = await WatchedRun.start(SEND);
      const id = await run.waits();
      await run.approve(id);
      await eventually(() => expect(callsOf('send')).toBe(1));
      await endWorker('SIGKILL');
      Object.assign(upstream.tools, original);
      await startWorker();
      expect(await run.end()).toEqual(['output-error']);
      expect(callsOf('send')).toBe(1);
      const [part] = toolPartsOf((await run.thread.answer(run.taskId)).parts);
      expect(part).toMatchObject({
        approval: { id, approved: true },
        errorText: expect.stringContaining('not repeated'),
      });
    },
    PATIENCE_MS,
  );

  it(
    'after the outcome of the approved call: it is not made again',
    async () => {
      await startWorker();
      const run = await WatchedRun.start(SEND);
      const id = await run.waits();
      const asked = model.requests.length;
      model.script({ kind: 'hang' }, { kind: 'text', deltas: ['Done.'] });
      await run.approve(id);
      await eventually(() => expect(model.requests.length).toBeGreaterThan(asked));
      await endWorker('SIGKILL');
      await startWorker();
      expect(await run.end()).toEqual(['output-available']);
      expect(callsOf('send')).toBe(1);
    },
    PATIENCE_MS,
  );

  it(
    'while a cancelled run is to be ended',
    async () => {
      await startWorker();
      const run = await WatchedRun.start(SEND);
      const id = await run.waits();
      await endWorker('SIGKILL');
      await run.thread.cancel().expect(202);
      expect((await answer(api, run.thread.id, id, YES)).status).toBe(409);
      await loseJobs();
      await startWorker();
      expect(await run.end('cancelled')).toEqual(['output-denied']);
      expect(callsOf('send')).toBe(0);
    },
    PATIENCE_MS,
  );
});

describe('while workers restart in good order', () => {
  it(
    'runs wait, are answered and continue, without counting attempts',
    async () => {
      await startWorker();
      const calls = Array.from({ length: 6 }, () => SEND);
      const thread = await ThreadClient.create(api, agentId);
      const stream = await thread.stream();
      for (const call of calls) model.script({ kind: 'tool-calls', calls: [call] });
      const taskId = await thread.postMessage('Go', SCRIPTED);
      let last: string | undefined;
      for (const [n] of calls.entries()) {
        await eventually(async () => {
          const { status, pending_approvals: pending } = await thread.run(taskId);
          if (status !== 'waiting' || pending[0]?.id === last) return false;
          last = pending[0]?.id;
          return true;
        });
        if (n % 3 === 0) {
          await endWorker('SIGTERM');
          await startWorker();
        }
        await answer(api, thread.id, last ?? '', YES).expect(202);
      }
      const message = await thread.expectWhole(taskId, await stream.collectUntilDone(PATIENCE_MS));
      expect(toolPartsOf(message.parts)).toHaveLength(calls.length);
      expect(callsOf('send')).toBe(calls.length);
      const { attempt, status } = await thread.run(taskId);
      expect({ attempt, status }).toEqual({ attempt: calls.length + 1, status: 'completed' });
      const { item } = await succeed<{ item: { status: string } }>(api, 'COLLECTION_THREADS_GET', { id: thread.id });
      expect(item.status).toBe('completed');
    },
    2 * PATIENCE_MS,
  );
});
