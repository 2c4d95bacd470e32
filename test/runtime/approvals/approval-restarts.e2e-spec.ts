import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
/** Calls by the run that makes them. */
const send = (run: string) => ({ name: 'send', arguments: { run } });
const look = (run: string) => ({ name: 'look', arguments: { run } });

let database: TestDatabase;
let api: TestService;
let model: FakeOpenAI;
let upstream: McpUpstream;
let agentId: string;
/** A process of its own, which a test leaves to the next one. */
let worker: ServiceProcess | undefined;
/** The runs whose calls of these tools do not end. */
const hanging: Record<'look' | 'send', Set<unknown>> = { look: new Set(), send: new Set() };

beforeAll(async () => {
  database = await createTestDatabase();
  [api, model, upstream] = await Promise.all([
    startTestService({ database, env: { ...ENV, ROLE: 'api' } }),
    startFakeOpenAI(),
    startUpstream(),
  ]);
  for (const [name, runs] of Object.entries(hanging)) {
    const tool = upstream.tools[name] as UpstreamTool;
    const handler: UpstreamTool['handler'] = (args, signal) =>
      runs.has(args['run']) ? new Promise(() => undefined) : tool.handler(args, signal);
    upstream.tools[name] = { ...tool, handler };
  }
  await useScriptedModel(api, model);
  agentId = await createAskingAgent(api, await connect(api, upstream.url), ['send', 'wipe']);
}, START_MS);

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

/** Lets the calls that hang be repeated. */
function endHanging(): void {
  for (const runs of Object.values(hanging)) runs.clear();
}

/** How many calls of the tool the run has made. */
const callsOf = (tool: string, run: string): number =>
  upstream.calls.filter((call) => call.tool === tool && call.arguments['run'] === run).length;
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

/** Does what wakes a worker while there is none, and deletes the job that this adds. Those before it stay. */
async function loseJobOf(work: () => Promise<unknown>): Promise<void> {
  const before = await api.query<{ id: string }>('SELECT id FROM bullmq.job');
  await work();
  await eventually(async () => {
    const lost: unknown[] = await query(
      'WITH lost AS (DELETE FROM bullmq.job WHERE id <> ALL ($1::text[]) RETURNING id) SELECT id FROM lost',
      [before.map(({ id }) => id)],
    );
    return lost.length > 0;
  });
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
      const run = await WatchedRun.start(send('step'));
      await eventually(isBlocked);
      await endWorker('SIGKILL');
      await barrier.dropAfterKill();
      model.script({ kind: 'tool-calls', calls: [send('step')] });
      await startWorker();
      await run.approve(await run.waits());
      expect(await run.end()).toEqual(['output-available']);
      expect(callsOf('send', 'step')).toBe(1);
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
      const run = await WatchedRun.start(send('stream'));
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
      expect(callsOf('send', 'stream')).toBe(1);
    },
    PATIENCE_MS,
  );

  it(
    'while it stores that the run waits',
    async () => {
      await startWorker();
      const waiting = Promise.withResolvers<string>();
      const original = upstream.tools['look'] as UpstreamTool;
      upstream.tools['look'] = { ...original, handler: () => waiting.promise };
      const run = await WatchedRun.start(look('wait'), send('wait'));
      const id = await run.approvalId();
      await eventually(() => expect(callsOf('look', 'wait')).toBe(1));
      // The next write to the run's row is the one that stores the other call's outcome, then the waiting.
      const barrier = await Barrier.raise('SELECT FROM runs WHERE id = $1 FOR UPDATE', [run.taskId]);
      upstream.tools['look'] = original;
      waiting.resolve('seen');
      await eventually(isBlocked);
      await endWorker('SIGKILL');
      await barrier.dropAfterKill();
      await startWorker();
      expect(await run.waits()).toBe(id);
      await run.approve(id);
      expect(await run.end()).toEqual(['output-available', 'output-available']);
      expect(callsOf('send', 'wait')).toBe(1);
    },
    PATIENCE_MS,
  );

  it(
    'after the continuation began, before the approved call is made',
    async () => {
      await startWorker();
      const run = await WatchedRun.start(send('continuation'));
      const id = await run.waits();
      await endWorker('SIGTERM');
      await run.approve(id);
      const barrier = await Barrier.raise('SELECT FROM run_approvals WHERE id = $1 FOR UPDATE', [id]);
      await startWorker();
      await eventually(isBlocked);
      expect(callsOf('send', 'continuation')).toBe(0);
      await endWorker('SIGKILL');
      await barrier.dropAfterKill();
      await startWorker();
      expect(await run.end()).toEqual(['output-available']);
      expect(callsOf('send', 'continuation')).toBe(1);
    },
    PATIENCE_MS,
  );

  describe('with runs in several states', () => {
    const names = ['requested', 'decided', 'called', 'asked', 'stored', 'lost', 'cancelled'] as const;
    const runs = {} as Record<(typeof names)[number], WatchedRun>;
    const ids = {} as Record<(typeof names)[number], string>;

    beforeAll(async () => {
      await startWorker();
      for (const name of ['requested', 'decided'] as const) {
        hanging.look.add(name);
        runs[name] = await WatchedRun.start(look(name), send(name));
        ids[name] = await runs[name].approvalId();
        await eventually(() => expect(callsOf('look', name)).toBe(1));
      }
      await runs.decided.approve(ids.decided);

      for (const name of ['called', 'asked', 'stored', 'lost', 'cancelled'] as const) {
        runs[name] = await WatchedRun.start(send(name));
        ids[name] = await runs[name].waits();
      }
      hanging.send.add('called');
      await runs.called.approve(ids.called);
      await eventually(() => expect(callsOf('send', 'called')).toBe(1));
      const asked = model.requests.length;
      model.script({ kind: 'hang' });
      await runs.asked.approve(ids.asked);
      await eventually(() => expect(model.requests.length).toBeGreaterThan(asked));

      await endWorker('SIGKILL');
      endHanging();
      await loseJobOf(() => runs.lost.approve(ids.lost));
      await loseJobOf(async () => {
        await runs.cancelled.thread.cancel().expect(202);
      });
      expect((await answer(api, runs.cancelled.thread.id, ids.cancelled, YES)).status).toBe(409);
      // Answered while there is no worker at all.
      await runs.stored.approve(ids.stored);
      await startWorker();
    }, PATIENCE_MS);

    it('after the approval was requested, before the run waits', async () => {
      expect(await runs.requested.waits()).toBe(ids.requested);
      await runs.requested.approve(ids.requested);
      expect(await runs.requested.end()).toEqual(['output-available', 'output-available']);
      expect(callsOf('send', 'requested')).toBe(1);
    });

    it('when the request is answered before the run waits', async () => {
      expect(await runs.decided.end()).toEqual(['output-available', 'output-available']);
      expect(callsOf('send', 'decided')).toBe(1);
    });

    it('after the wait is stored', async () => {
      expect(await runs.stored.end()).toEqual(['output-available']);
      expect(callsOf('send', 'stored')).toBe(1);
    });

    it('after the answer is stored, and the job of the continuation is lost', async () => {
      expect(await runs.lost.end()).toEqual(['output-available']);
      expect(callsOf('send', 'lost')).toBe(1);
    });

    it('while the approved call is made: it is not made again', async () => {
      expect(await runs.called.end()).toEqual(['output-error']);
      expect(callsOf('send', 'called')).toBe(1);
      const [part] = toolPartsOf((await runs.called.thread.answer(runs.called.taskId)).parts);
      expect(part).toMatchObject({
        approval: { id: ids.called, approved: true },
        errorText: expect.stringContaining('not repeated'),
      });
    });

    it('after the outcome of the approved call: it is not made again', async () => {
      expect(await runs.asked.end()).toEqual(['output-available']);
      expect(callsOf('send', 'asked')).toBe(1);
    });

    it('while a cancelled run is to be ended', async () => {
      expect(await runs.cancelled.end('cancelled')).toEqual(['output-denied']);
      expect(callsOf('send', 'cancelled')).toBe(0);
    });
  });
});

describe('while workers restart in good order', () => {
  it(
    'runs wait, are answered and continue, without counting attempts',
    async () => {
      await startWorker();
      const calls = Array.from({ length: 6 }, () => send('restarted'));
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
      expect(callsOf('send', 'restarted')).toBe(calls.length);
      const { attempt, status } = await thread.run(taskId);
      expect({ attempt, status }).toEqual({ attempt: calls.length + 1, status: 'completed' });
      const { item } = await succeed<{ item: { status: string } }>(api, 'COLLECTION_THREADS_GET', { id: thread.id });
      expect(item.status).toBe('completed');
    },
    2 * PATIENCE_MS,
  );
});
