import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import supertest from 'supertest';
import type { MessageItem, MessagePage } from '../../../src/runtime/threads/thread.dto.js';
import { RunReader } from '../../../src/runtime/runs/records/run-reader.js';
import { MAX_HISTORY_BYTES } from '../../../src/runtime/threads/history-query.js';
import { conversationOf, TranscriptService } from '../../../src/runtime/threads/transcript.service.js';
import { createAgent, LONG, succeed, ThreadClient, unusedId } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { expectProblem } from '../../support/problem.js';
import { eventually } from '../../support/eventually.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { resultOf } from './turns.support.js';
import { useStarted } from '../../support/use-started.js';

/** Its answers differ. */
const QUESTION = '/random 5';

const app = useStarted(startTestApp);
let agentId: string;
let thread: ThreadClient;

beforeAll(async () => {
  agentId = await createAgent(app);
});
beforeEach(async () => {
  thread = await ThreadClient.create(app, agentId);
});

function regenerate(body: object = {}, headers: object = {}, on = thread, key = app.apiKey): supertest.Test {
  return supertest(app.url)
    .post(`/api/default/agent-runtime/threads/${on.id}/regenerate`)
    .set({ authorization: `Bearer ${key}`, ...headers })
    .send(body);
}

/** Answers again, and waits for the answer. */
async function again(body: object = {}, headers: object = {}) {
  return resultOf(await regenerate(body, { prefer: 'wait=60', ...headers }).expect(200));
}

/** Posts a message whose run ends, with the ids of question and answer. */
async function turn(text = QUESTION, on = thread): Promise<{ question: string; answer: string; taskId: string }> {
  const question = `q-${unusedId()}`;
  const body = on.request(text, { messageId: question });
  const result = resultOf(await on.post(body, { headers: { prefer: 'wait=60' } }).expect(200));
  return { question, answer: result.message?.id ?? '', taskId: result.taskId };
}

const whole = async (): Promise<MessageItem[]> =>
  (
    await succeed<MessagePage>(app, 'COLLECTION_THREAD_MESSAGES_LIST', {
      thread_id: thread.id,
      include_superseded: true,
    })
  ).items;
const idsOf = (messages: readonly MessageItem[]): string[] => messages.map(({ id }) => id);

/** The ids of the history that a run on the thread reads. */
async function historyOf(taskId: string): Promise<string[]> {
  const organizations: { id: string }[] = await app.app
    .get(DataSource)
    .query(`SELECT id FROM organizations WHERE slug = 'default'`);
  const run = await app.app.get(RunReader, { strict: false }).findRun(organizations[0]?.id ?? '', taskId);
  if (run === null) throw new Error('There is no such run.');
  const rows = await app.app.get(TranscriptService, { strict: false }).readHistoryRows(run, MAX_HISTORY_BYTES);
  return conversationOf(run, rows).map(({ id }) => id);
}

describe('answering again', () => {
  it('supersedes the last answer, and keeps it', async () => {
    const first = await turn();
    const second = await turn();
    const kept = await thread.answer(second.taskId);
    const { taskId, status, message } = await again();
    expect(status).toBe('completed');
    expect(message?.parts).not.toEqual(kept.parts);
    const visible = [first.question, first.answer, second.question, message?.id];
    expect(idsOf(await thread.messages())).toEqual(visible);
    const all = await whole();
    expect(idsOf(all)).toEqual([first.question, first.answer, second.question, second.answer, message?.id]);
    expect(all[3]).toEqual({ ...kept, metadata: { ...kept.metadata, superseded_by: taskId } });
    expect(all.filter(({ metadata }) => 'superseded_by' in metadata)).toHaveLength(1);
    expect(await thread.status()).toBe('completed');
  });

  it.each(['question', 'answer'] as const)('supersedes everything after the answer that its %s names', async (name) => {
    const first = await turn();
    const second = await turn();
    const { taskId, message } = await again({ messageId: first[name] });
    expect(idsOf(await thread.messages())).toEqual([first.question, message?.id]);
    const superseded = (await whole()).filter(({ metadata }) => metadata['superseded_by'] === taskId);
    expect(idsOf(superseded)).toEqual([first.answer, second.question, second.answer]);
  });

  it('can be repeated, and the conversation goes on from the newest answer', async () => {
    const first = await turn();
    const one = await again();
    const two = await again({ messageId: one.message?.id });
    const next = await turn();
    const three = await again({ messageId: two.message?.id });
    expect(idsOf(await thread.messages())).toEqual([first.question, three.message?.id]);
    expect(await historyOf(next.taskId)).not.toContain(first.answer);
    const last = await turn();
    expect(await historyOf(last.taskId)).toEqual([first.question, three.message?.id, last.question]);
    expect(idsOf(await thread.messages())).toEqual([first.question, three.message?.id, last.question, last.answer]);
  });

  it('reads the conversation up to the question, and its system messages', async () => {
    const first = await turn();
    const question = `q-${unusedId()}`;
    const body = thread.request(QUESTION, { messageId: question, system: ['Be brief.'] });
    await thread.post(body, { headers: { prefer: 'wait=60' } }).expect(200);
    await turn();
    const { taskId } = await again({ messageId: question });
    const history = await historyOf(taskId);
    expect(history).toHaveLength(4);
    expect([history[0], history[1], history.at(-1)]).toEqual([first.question, first.answer, question]);
  });

  it('keeps the tier and the temperature of the question', async () => {
    const body = thread.request(QUESTION, { tier: 'fast', temperature: 0.5 });
    await thread.post(body, { headers: { prefer: 'wait=60' } }).expect(200);
    const { taskId } = await again();
    expect(await thread.run(taskId)).toMatchObject({ tier: 'fast', temperature: 0.5 });
  });

  it('works when the run of the question is no longer stored', async () => {
    const { question, taskId } = await turn();
    await app.app.get(DataSource).query('DELETE FROM runs WHERE id = $1', [taskId]);
    expect((await again({ messageId: question })).status).toBe('completed');
  });

  it('works for a message without any answer', async () => {
    const busy = await thread.postMessage(LONG);
    const queued = await thread.postMessage(QUESTION, { messageId: 'unanswered' });
    await thread.cancel(queued).expect(202);
    await thread.cancel(busy).expect(202);
    await thread.waitFor(busy, 'cancelled');
    const { message } = await again({ messageId: 'unanswered' });
    expect(idsOf(await thread.messages()).slice(-2)).toEqual(['unanswered', message?.id]);
  });

  it('streams the new answer', async () => {
    const { question } = await turn();
    const response = await regenerate({}, { accept: 'text/event-stream' }).expect(200);
    const taskId = String(response.headers['x-task-id']);
    expect(response.text).toContain('[DONE]');
    expect(idsOf(await thread.messages())).toEqual([question, (await thread.answer(taskId)).id]);
  });

  it('is done once for an Idempotency-Key', async () => {
    await turn();
    const headers = { 'idempotency-key': unusedId() };
    const results = await Promise.all([again({}, headers), again({}, headers)]);
    expect(results[0]).toEqual(results[1]);
    expect(await whole()).toHaveLength(3);
    expectProblem(await regenerate({ messageId: 'other' }, headers), 409, 'idempotency_conflict');
    expectProblem(await thread.post(thread.request('hello'), { headers }), 409, 'idempotency_conflict');
  });

  it('is done once of several at the same time', async () => {
    const stopped = await thread.postMessage(`hello\n${LONG}`);
    await thread.waitFor(stopped, 'running');
    await thread.cancel().expect(202);
    await thread.waitFor(stopped, 'cancelled');
    const answers = await Promise.all([1, 2, 3, 4].map(() => regenerate()));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409, 409, 409]);
    for (const refused of answers.filter(({ status }) => status === 409)) expectProblem(refused, 409, 'thread_busy');
    await thread.cancel().expect(202);
  });

  it('waits for nobody: a busy thread is refused', async () => {
    const { answer } = await turn();
    await thread.postMessage(LONG);
    expectProblem(await regenerate({ messageId: answer }), 409, 'thread_busy');
    await thread.cancel().expect(202);
    await eventually(async () => expect(await thread.status()).not.toBe('in_progress'));
    expect(await whole()).toHaveLength(4);
  });

  it('of a superseded message is refused', async () => {
    const first = await turn();
    const second = await turn();
    await again({ messageId: first.question });
    for (const messageId of [first.answer, second.question, second.answer]) {
      expectProblem(await regenerate({ messageId }), 409, 'superseded');
    }
  });

  it.each([
    ['an unknown message', { messageId: 'nobody' }, 404, 'message_not_found'],
    ['no message id', { messageId: 'a b' }, 400, 'invalid_request'],
    ['null', { messageId: null }, 400, 'invalid_request'],
    ['an unknown property', { message_id: 'a' }, 400, 'invalid_request'],
  ])('is refused for %s', async (_, body, status, code) => {
    await turn();
    expectProblem(await regenerate(body), status, code);
    expect(await whole()).toHaveLength(2);
  });

  it('is refused without a question, on an unknown thread, and with query parameters', async () => {
    expectProblem(await regenerate(), 404, 'message_not_found');
    expectProblem(await regenerate({}, {}, new ThreadClient(app, agentId, 'nowhere')), 404, 'thread_not_found');
    expectProblem(await regenerate().query({ wait: 1 }), 400, 'invalid_request');
  });

  it('is for those who may post', async () => {
    const { answer } = await turn();
    const token = async (permissions: readonly string[]): Promise<string> =>
      (await succeed<{ token: string }>(app, 'THREAD_TOKEN_CREATE', { thread_id: thread.id, permissions })).token;
    expectProblem(await regenerate({}, {}, thread, await token(['read'])), 403, 'permission_denied');
    expectProblem(await regenerate({}, {}, thread, 'nonsense'), 401, 'credential_invalid');
    const second = await startSecondOrganization(app, 'second');
    const foreign = await second.post(`agent-runtime/threads/${thread.id}/regenerate`, { messageId: answer });
    expectProblem(foreign, 404, 'thread_not_found');
    await regenerate({}, {}, thread, await token(['post'])).expect(202);
  });

  it('obeys the limit of waiting runs', async () => {
    const busy = await ThreadClient.create(app, agentId);
    await turn();
    await succeed(app, 'ORGANIZATION_UPDATE', { limits: { waiting_runs: 1, concurrent_runs: 1 } });
    try {
      const running = await busy.postMessage(LONG);
      await busy.postMessage(LONG);
      // A changed limit counts within a second.
      await eventually(async () => expect((await busy.post(busy.request(LONG))).status).toBe(429));
      expectProblem(await regenerate(), 429, 'too_many_runs');
      await busy.cancel().expect(202);
      await busy.waitFor(running, 'cancelled');
      expect(await whole()).toHaveLength(2);
    } finally {
      await succeed(app, 'ORGANIZATION_UPDATE', { limits: null });
    }
  });

  it('leaves two lists, and a cursor of one is refused by the other', async () => {
    await turn();
    await turn();
    const input = { thread_id: thread.id, limit: 1 };
    const page = await succeed<MessagePage>(app, 'COLLECTION_THREAD_MESSAGES_LIST', input);
    const other = { ...input, cursor: page.nextCursor, include_superseded: true };
    expectProblem(await app.tool('COLLECTION_THREAD_MESSAGES_LIST', other), 400, 'invalid_cursor');
    const newest = { thread_id: thread.id, order: 'desc', include_superseded: true };
    expect((await succeed<MessagePage>(app, 'COLLECTION_THREAD_MESSAGES_LIST', newest)).items).toHaveLength(4);
  });
});
