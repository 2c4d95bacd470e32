import { beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { HELD_PER_JSON_BYTE } from '../../../src/core/answers/answer-budget.js';
import { MAX_HISTORY_MESSAGES, MAX_HISTORY_TOKENS } from '../../../src/agents/records/agent.js';
import { historyBytesFor, HISTORY, MAX_HISTORY_BYTES } from '../../../src/runtime/threads/history-query.js';
import { ANSWER_ORDINAL } from '../../../src/runtime/threads/message.entity.js';
import type { RunEntity } from '../../../src/runtime/runs/records/run.entity.js';
import { conversationOf, TranscriptService } from '../../../src/runtime/threads/transcript.service.js';
import { startTestApp } from '../../support/app.js';
import { useStarted } from '../../support/use-started.js';

const service = useStarted(startTestApp);
let database: DataSource;
let organizationId: string;
let agentId: string;

beforeAll(async () => {
  database = service.app.get(DataSource);
  const [organization] = await database.query<{ id: string }[]>('SELECT id FROM organizations');
  organizationId = organization?.id ?? '';
  const data = { title: 'Agent', history: { max_messages: MAX_HISTORY_MESSAGES, max_tokens: MAX_HISTORY_TOKENS } };
  agentId = (await service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data }).expect(200)).body.item.id as string;
});

/** What one run brought and wrote, in bytes of text. */
interface Turn {
  request: number;
  answer?: number;
}

/** Stores the messages `q<run>` and `a<run>` of these runs in a new thread; resolves with the last run. */
async function store(turns: readonly Turn[]): Promise<RunEntity> {
  const data = { title: 'Thread', virtual_mcp_id: agentId };
  const created = await service.tool('COLLECTION_THREADS_CREATE', { data }).expect(200);
  const threadId = created.body.item.id as string;
  const messages = turns.flatMap(({ request, answer }, position) => {
    const question = { id: `q${position}`, position, ordinal: 0, role: 'user', size: request };
    const reply = { id: `a${position}`, position, ordinal: ANSWER_ORDINAL, role: 'assistant', size: answer ?? 0 };
    return answer === undefined ? [question] : [question, reply];
  });
  await database.query(
    `INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts)
     SELECT $1, $2, id, $3, position, ordinal, role, json_build_array(json_build_object('type', 'text', 'text', repeat('x', size)))
       FROM json_to_recordset($4) AS m (id text, position bigint, ordinal int, role text, size int)`,
    [organizationId, threadId, randomUUID(), JSON.stringify(messages)],
  );
  const position = turns.length - 1;
  return { organizationId, threadId, agentId, position, messageId: `a${position}` } as RunEntity;
}

/** The ids in the history of the last of these runs. */
async function historyOf(turns: readonly Turn[], maxBytes?: number): Promise<string[]> {
  return read(await store(turns), maxBytes);
}

async function read(run: RunEntity, maxBytes = MAX_HISTORY_BYTES): Promise<string[]> {
  const rows = await service.app.get(TranscriptService, { strict: false }).readHistoryRows(run, maxBytes);
  return conversationOf(run, rows).map(({ id }) => id);
}

async function setHistory(history: object | null): Promise<object> {
  const updated = await service.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id: agentId, data: { history } }).expect(200);
  return updated.body.item.history as object;
}

describe('the history of a run', () => {
  it('is the whole conversation, without its own answer so far', async () => {
    const turns = [{ request: 10, answer: 10 }, { request: 10 }, { request: 10, answer: 10 }];
    expect(await historyOf(turns)).toEqual(['q0', 'a0', 'q1', 'q2']);
  });

  it('is of a long conversation the newest runs that fit, each as a whole', async () => {
    const half = MAX_HISTORY_BYTES / 2;
    const turns = [
      { request: 10, answer: 10 },
      { request: 1000, answer: half },
      { request: half, answer: 10 },
    ];
    expect(await historyOf([...turns, { request: 10 }])).toEqual(['q2', 'a2', 'q3']);
  });

  it('holds the request of the run itself, whatever its size, and does not count its answer', async () => {
    const turns = [
      { request: 10, answer: 10 },
      { request: 2 * MAX_HISTORY_BYTES, answer: 2 * MAX_HISTORY_BYTES },
    ];
    expect(await historyOf(turns)).toEqual(['q1']);
    const small = [
      { request: 10, answer: 10 },
      { request: 10, answer: 2 * MAX_HISTORY_BYTES },
    ];
    expect(await historyOf(small)).toEqual(['q0', 'a0', 'q1']);
  });

  it('leaves out superseded messages, and keeps a question with the answer that came later', async () => {
    const small = { request: 10, answer: 10 };
    const run = await store([{ request: 60_000, answer: 10 }, small, small, { request: 10 }]);
    const inThread = [run.organizationId, run.threadId];
    await database.query(`DELETE FROM messages WHERE organization_id = $1 AND thread_id = $2 AND id = 'q1'`, inThread);
    await database.query(
      `UPDATE messages SET superseded_by = run_id WHERE organization_id = $1 AND thread_id = $2 AND id = 'a0'`,
      inThread,
    );
    expect(await read(run)).toEqual(['q0', 'a1', 'q2', 'a2', 'q3']);
    expect(await read(run, 50_000)).toEqual(['q2', 'a2', 'q3']);
    // The run that answers the first question again.
    expect(await read({ ...run, questionPosition: 0, messageId: 'a1' })).toEqual(['q0']);
  });

  it('is the smaller the less memory there is for each of the runs at once', async () => {
    const gibibyte = 2 ** 30;
    expect(historyBytesFor(4 * gibibyte, 50)).toBe(MAX_HISTORY_BYTES);
    expect(historyBytesFor(gibibyte / 2, 50) * 50 * HELD_PER_JSON_BYTE).toBeLessThanOrEqual(gibibyte / 8);
    const turns = [{ request: 60_000, answer: 60_000 }, { request: 30_000, answer: 30_000 }, { request: 10 }];
    expect(await historyOf(turns, 100_000)).toEqual(['q1', 'a1', 'q2']);
  });

  it('is bounded in messages too', async () => {
    const turns = Array.from({ length: 2 * MAX_HISTORY_MESSAGES }, () => ({ request: 1, answer: 1 }));
    const ids = await historyOf(turns);
    expect(ids).toHaveLength(MAX_HISTORY_MESSAGES + 1);
    expect(ids[0]).toBe(`q${1.5 * MAX_HISTORY_MESSAGES - 1}`);
    expect(ids.at(-1)).toBe(`q${2 * MAX_HISTORY_MESSAGES - 1}`);
  });

  it('follows the limits of the agent', async () => {
    const run = await store(Array.from({ length: 300 }, () => ({ request: 400, answer: 400 })));
    expect(await setHistory({ max_messages: 5 })).toEqual({ max_messages: 5, max_tokens: 100_000 });
    expect(await read(run)).toEqual(['q297', 'a297', 'q298', 'a298', 'q299']);
    expect(await setHistory({ max_messages: 1 })).toEqual({ max_messages: 1, max_tokens: 100_000 });
    expect(await read(run)).toEqual(['q299']);
    await setHistory({ max_tokens: 1000 });
    expect(await read(run)).toEqual(['q297', 'a297', 'q298', 'a298', 'q299']);
    // The run before is always in it.
    await setHistory({ max_tokens: 1 });
    expect(await read(run)).toEqual(['q298', 'a298', 'q299']);
    expect(await setHistory(null)).toEqual({ max_messages: 200, max_tokens: 100_000 });
    expect(await read(run)).toHaveLength(201);
  });

  it.each([{ max_messages: 0 }, { max_messages: 1001 }, { max_tokens: 1.5 }, { max_words: 5 }, [], 'short'])(
    'refuses the limits %j',
    async (history) => {
      await service.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id: agentId, data: { history } }).expect(400);
    },
  );

  it('reads no message beyond the limits, however long the thread is', async () => {
    await setHistory({ max_messages: 20 });
    const run = await store(Array.from({ length: 2500 }, () => ({ request: 1000, answer: 1000 })));
    await database.query('ANALYZE messages');
    const text = HISTORY.text.replaceAll('\n', ' ');
    const values = [organizationId, run.threadId, run.position, run.messageId, agentId, MAX_HISTORY_BYTES];
    const [{ 'QUERY PLAN': plan } = { 'QUERY PLAN': [] }] = await database.query<{ 'QUERY PLAN': PlanNode[] }[]>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
      values,
    );
    // The earlier messages and one more, and the request, which is counted first.
    expect(rowsOf(plan, 'messages')).toBe(23);
  });
});

interface PlanNode {
  'Relation Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  Plan?: PlanNode;
  Plans?: PlanNode[];
}

/** How many rows of a table the plan read. */
function rowsOf(nodes: readonly PlanNode[], table: string): number {
  return nodes.reduce((sum, node) => {
    const own = node['Relation Name'] === table ? (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 1) : 0;
    return sum + own + rowsOf([...(node.Plans ?? []), ...(node.Plan === undefined ? [] : [node.Plan])], table);
  }, 0);
}
