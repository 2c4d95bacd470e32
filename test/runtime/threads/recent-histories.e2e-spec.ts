import { beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { UIMessage } from 'ai';
import * as fc from 'fast-check';
import { RunReader } from '../../../src/runtime/runs/records/run-reader.js';
import { AnswerSuperseding } from '../../../src/runtime/threads/answer-superseding.js';
import { ANSWER_ORDINAL } from '../../../src/runtime/threads/message.entity.js';
import { type FollowingRun, RecentHistories } from '../../../src/runtime/threads/recent-histories.js';
import {
  conversationOf,
  type TranscriptMessage,
  TranscriptService,
} from '../../../src/runtime/threads/transcript.service.js';
import { createAgent, LONG, succeed, ThreadClient, unusedId } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import type { Tenant } from '../../support/tenant.js';
import { useStarted } from '../../support/use-started.js';

/** A history that a run has read, and what the database has. */
interface Read {
  readonly isKnown: boolean;
  readonly history: readonly TranscriptMessage[];
  readonly stored: readonly TranscriptMessage[];
}

/** Where a message is stored. */
interface StoredPlace {
  organizationId: string;
  threadId: string;
  id: string;
  runId: string;
  position: number;
  ordinal: number;
  role: 'user' | 'assistant';
}

/** Watches the histories that the runs of a process read, one at a time. */
function watchReads({ app }: TestApp): Read[] {
  const reads: Read[] = [];
  const histories = app.get(RecentHistories, { strict: false });
  const transcript = app.get(TranscriptService, { strict: false });
  const whole = jest.spyOn(transcript, 'readHistoryRows');
  const read = histories.read.bind(histories);
  jest.spyOn(histories, 'read').mockImplementation(async (run, maxBytes) => {
    whole.mockClear();
    const history = await read(run, maxBytes);
    const isKnown = whole.mock.calls.length === 0;
    const stored = conversationOf(run, await transcript.readHistoryRows(run, maxBytes));
    reads.push({ isKnown, history: structuredClone(history), stored });
    return history;
  });
  return reads;
}

const app = useStarted(startTestApp);
let agentId: string;
let reads: Read[];
let thread: ThreadClient;

beforeAll(async () => {
  agentId = await createAgent(app);
  reads = watchReads(app);
});
beforeEach(async () => {
  thread = await ThreadClient.create(app, agentId);
  reads.length = 0;
});

/** Posts a message and waits for the end of its stream, which is after that of its run; resolves with its id. */
async function turn(text = '/random 5', on = thread): Promise<string> {
  return (await on.ask(text)).taskId;
}

/** Whether each history was known; each is what the database has. */
function knownOf(all: readonly Read[] = reads): boolean[] {
  for (const { history, stored } of all) expect(history).toEqual(stored);
  return all.map(({ isKnown }) => isKnown);
}

const lengths = (): number[] => reads.map(({ history }) => history.length);

describe('the history of a thread whose last run this process has ended', () => {
  it('is known, and only the request is read', async () => {
    for (let n = 0; n < 4; n++) await turn();
    expect(knownOf()).toEqual([false, true, true, true]);
    expect(lengths()).toEqual([1, 3, 5, 7]);
  });

  it('is known after a run that failed or was cancelled, and for a run that has waited', async () => {
    await turn('/fail badly');
    await turn();
    const stopped = await thread.postMessage(LONG);
    await thread.waitFor(stopped, 'running');
    const waiting = await thread.postMessage('And then?');
    await thread.cancel(stopped).expect(202);
    await thread.collect(waiting);
    expect(knownOf()).toEqual([false, true, true, true]);
    expect(lengths()).toEqual([1, 3, 5, 7]);
  });

  it('is read again after another attempt has ended the run, with an answer of the same size', async () => {
    const taskId = await turn();
    await app.query('UPDATE runs SET attempt = attempt + 1 WHERE id = $1', [taskId]);
    await app.query(
      `UPDATE messages SET parts = translate(parts::text, 'aeiou', 'xxxxx')::json WHERE run_id = $1 AND role = 'user'`,
      [taskId],
    );
    await turn();
    expect(knownOf()).toEqual([false, false]);
    expect(lengths()).toEqual([1, 3]);
  });

  it('is read again after an answer was superseded by another, or taken out', async () => {
    await turn();
    await turn();
    await thread.collect(await regenerate());
    await turn();
    const last = await turn();
    expect(knownOf()).toEqual([false, true, false, false, true]);
    expect(lengths()).toEqual([1, 3, 3, 5, 7]);
    await supersede(last);
    await turn();
    expect(knownOf().at(-1)).toBe(false);
    expect(lengths().at(-1)).toBe(7);
  });

  it('is read again after a large answer', async () => {
    await turn('/words 20000');
    await turn();
    await turn();
    expect(knownOf()).toEqual([false, false, true]);
    expect(lengths()).toEqual([1, 3, 5]);
  });

  it('is read again after a message has steered the run', async () => {
    const taskId = await thread.postMessage(LONG);
    await eventually(() => expect(reads).toHaveLength(1));
    await thread.steer(thread.request('More'), { query: { interrupt: true } }).expect(202);
    await thread.collect(taskId);
    await turn();
    await turn();
    expect(knownOf()).toEqual([false, false, true]);
  });

  it('follows the limits of the agent', async () => {
    const limited = await createAgent(app);
    thread = await ThreadClient.create(app, limited);
    const limit = (history: object | null): Promise<unknown> =>
      succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id: limited, data: { history } });
    for (let n = 0; n < 4; n++) await turn();
    await limit({ max_messages: 4 });
    await turn();
    await turn();
    await limit(null);
    await turn();
    await limit({ max_tokens: 1 });
    await turn();
    expect(knownOf()).toEqual([false, true, true, true, true, true, false, true]);
    expect(lengths()).toEqual([1, 3, 5, 7, 5, 5, 13, 3]);
  });

  it('is not that of a deleted thread with the same id, nor of another organization', async () => {
    const id = unusedId();
    thread = await ThreadClient.create(app, agentId, id);
    await turn();
    await succeed(app, 'COLLECTION_THREADS_DELETE', { id });
    thread = await ThreadClient.create(app, agentId, id);
    await turn();
    const second = await startSecondOrganization(app, `other-${unusedId().slice(0, 8)}`);
    const other = { ...app, org: second.slug, apiKey: second.key, tool: second.tool } as unknown as Tenant;
    await turn('/random 5', await ThreadClient.create(other, await createAgent(other), id));
    await turn();
    expect(knownOf()).toEqual([false, false, false, true]);
    expect(lengths()).toEqual([1, 1, 1, 3]);
  });
});

describe('what is known', () => {
  const sizes = fc.record({
    requests: fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 1, maxLength: 3 }),
    answer: fc.option(fc.integer({ min: 1, max: 9000 }), { nil: undefined }),
    maxMessages: fc.integer({ min: 1, max: 12 }),
    maxTokens: fc.integer({ min: 1, max: 6000 }),
  });

  it('is what the database has, whatever the sizes and the limits', async () => {
    const histories = app.app.get(RecentHistories, { strict: false });
    const limited = await createAgent(app);
    const organizationId = await organizationOf(app);
    await fc.assert(
      fc.asyncProperty(fc.array(sizes, { minLength: 2, maxLength: 8 }), async (turns) => {
        const { id: threadId } = await ThreadClient.create(app, limited);
        let previousId: string | null = null;
        for (const [index, { requests, answer, maxMessages, maxTokens }] of turns.entries()) {
          const [id, messageId, position] = [randomUUID(), randomUUID(), index + 1];
          const run = await storeRun({ id, organizationId, threadId, agentId: limited, position, messageId });
          const place = { organizationId, threadId, runId: id, position };
          for (const [ordinal, size] of requests.entries()) {
            await store({ ...place, id: randomUUID(), ordinal, role: 'user' }, textOf(size));
          }
          await app.query('UPDATE agents SET history_max_messages = $2, history_max_tokens = $3 WHERE id = $1', [
            limited,
            maxMessages,
            maxTokens,
          ]);
          await histories.read({ ...run, previousId }, 20_000);
          if (answer !== undefined) {
            await store({ ...place, id: messageId, ordinal: ANSWER_ORDINAL, role: 'assistant' }, textOf(answer));
            histories.add({ ...run, previousId }, { parts: textOf(answer), metadata: {} }, answer);
          }
          previousId = id;
        }
        knownOf();
      }),
      { numRuns: 40 },
    );
    expect(knownOf().filter((isKnown) => isKnown).length).toBeGreaterThan(20);
  });
});

describe('a thread that goes on for a long time', () => {
  it('is read again ten minutes after it was read', async () => {
    const histories = app.app.get(RecentHistories, { strict: false });
    const base = { organizationId: await organizationOf(app), threadId: thread.id, agentId };
    const at = async <T>(minutes: number, action: () => T): Promise<Awaited<T>> => {
      const real = performance.now();
      const now = jest.spyOn(performance, 'now').mockImplementation(() => real + minutes * 60_000);
      try {
        return await action();
      } finally {
        now.mockRestore();
      }
    };
    let previousId: string | null = null;
    for (const [index, minutes] of [0, 6, 11, 16].entries()) {
      const [id, messageId, position] = [randomUUID(), randomUUID(), index + 1];
      const run = { ...(await storeRun({ ...base, id, messageId, position })), previousId };
      const place = { organizationId: base.organizationId, threadId: thread.id, runId: id, position };
      await store({ ...place, id: randomUUID(), ordinal: 0, role: 'user' }, textOf(10));
      await at(minutes, () => histories.read(run, 20_000));
      await store({ ...place, id: messageId, ordinal: ANSWER_ORDINAL, role: 'assistant' }, textOf(10));
      await at(minutes, () => histories.add(run, { parts: textOf(10), metadata: {} }, 10));
      previousId = id;
    }
    expect(knownOf()).toEqual([false, true, false, true]);
  });
});

describe('two processes', () => {
  it('know a history only as long as no other one has gone on with the thread', async () => {
    const second = await startTestApp({ database: app.database });
    try {
      const ofSecond = watchReads(second);
      const elsewhere = new ThreadClient({ ...second, apiKey: app.apiKey } as unknown as Tenant, agentId, thread.id);
      await turn();
      await turn('/random 5', elsewhere);
      await turn('/random 5', elsewhere);
      await turn();
      await turn();
      expect(knownOf()).toEqual([false, false, true]);
      expect(knownOf(ofSecond)).toEqual([false, true]);
      expect([...lengths(), ...ofSecond.map(({ history }) => history.length)]).toEqual([1, 7, 9, 3, 5]);
    } finally {
      await second.close();
    }
  });
});

async function regenerate(): Promise<string> {
  const answer = await fetch(`${app.url}/api/default/agent-runtime/threads/${thread.id}/regenerate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.apiKey}`, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { taskId: string }).taskId;
}

async function organizationOf({ query }: TestApp): Promise<string> {
  const [organization] = await query<{ id: string }>(`SELECT id FROM organizations WHERE slug = 'default'`);
  return organization?.id ?? '';
}

type StoredRun = Pick<FollowingRun, 'id' | 'organizationId' | 'threadId' | 'agentId' | 'position' | 'messageId'>;

/** Stores a run that its first attempt has ended. */
async function storeRun(run: StoredRun): Promise<Omit<FollowingRun, 'previousId'>> {
  const { id, organizationId, threadId, agentId: agent, position, messageId } = run;
  await app.query(
    `INSERT INTO runs (id, organization_id, thread_id, agent_id, position, message_id, request_id, status, tier, attempt,
                       epoch, holder_id)
     OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6, 'request', 'completed', 'fast', 1, 'e1', $1)`,
    [id, organizationId, threadId, agent, position, messageId],
  );
  return { ...run, questionPosition: null, attempt: 1, epoch: 'e1' };
}

const textOf = (size: number): UIMessage['parts'] => [{ type: 'text', text: 'x'.repeat(size) }];

async function store(
  { organizationId, threadId, id, runId, position, ordinal, role }: StoredPlace,
  parts: UIMessage['parts'],
): Promise<void> {
  await app.query(
    `INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [organizationId, threadId, id, runId, position, ordinal, role, JSON.stringify(parts)],
  );
}

async function supersede(taskId: string): Promise<void> {
  const run = await app.app.get(RunReader, { strict: false }).findRun(await organizationOf(app), taskId);
  if (run === null) throw new Error('There is no such run.');
  await app.app.get(AnswerSuperseding, { strict: false }).supersede(run);
}
