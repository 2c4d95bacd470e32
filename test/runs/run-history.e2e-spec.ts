import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { HELD_PER_JSON_BYTE } from '../../src/common/answers/answer-budget.js';
import { historyBytesFor, MAX_HISTORY_BYTES, MAX_HISTORY_MESSAGES } from '../../src/threads/history-query.js';
import { ANSWER_ORDINAL } from '../../src/threads/message.entity.js';
import type { RunEntity } from '../../src/runs/records/run.entity.js';
import { TranscriptService } from '../../src/threads/transcript.service.js';
import { startTestApp, type TestApp } from '../support/app.js';

let service: TestApp;
let database: DataSource;
let organizationId: string;
let agentId: string;

beforeAll(async () => {
  service = await startTestApp();
  database = service.app.get(DataSource);
  const [organization] = await database.query<{ id: string }[]>('SELECT id FROM organizations');
  organizationId = organization?.id ?? '';
  const agent = await service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } }).expect(200);
  agentId = agent.body.item.id as string;
});
afterAll(() => service?.close());

/** What one run brought and wrote, in bytes of text. */
interface Turn {
  request: number;
  answer?: number;
}

/** The ids in the history of the last of these runs, whose messages are `q<run>` and `a<run>`. */
async function historyOf(turns: readonly Turn[], maxBytes?: number): Promise<string[]> {
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
  const run = { organizationId, threadId, position, messageId: `a${position}` } as RunEntity;
  const history = await service.app.get(TranscriptService, { strict: false }).readHistory(run, maxBytes);
  return history.map(({ id }) => id);
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
    expect(ids).toHaveLength(MAX_HISTORY_MESSAGES - 1);
    expect(ids[0]).toBe(`q${1.5 * MAX_HISTORY_MESSAGES}`);
    expect(ids.at(-1)).toBe(`q${2 * MAX_HISTORY_MESSAGES - 1}`);
  });
});
