import { describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { createAgent, succeed, ThreadClient, unusedId } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { expectProblem } from '../../support/problem.js';
import { newTenant } from '../../support/tenant.js';
import { steer, useSteeringApp } from './steering.support.js';
import { collectPosted, readRun, resultOf } from './turns.support.js';

const own = useSteeringApp(newTenant);

describe('a request to steer', () => {
  it.each([
    ['a tier', { tier: 'fast' }, 'unknown_property'],
    ['a temperature', { temperature: 1 }, 'unknown_property'],
    ['a thread id', { thread_id: 'x' }, 'thread_id_in_body'],
    ['no message', { messages: [] }, 'user_message_count'],
    ['an answer', { messages: [{ role: 'assistant', parts: [{ type: 'text', text: 'x' }] }] }, 'role_not_allowed'],
    ['messages that are none', { messages: 'x' }, 'invalid_request'],
  ])('with %s is refused', async (_, change, code) => {
    const { thread, taskId } = await own.startHeld();
    expectProblem(await thread.steer({ ...thread.request('x'), ...change }), 400, code);
    own.release();
    await thread.waitFor(taskId, 'completed');
    expect(await thread.messages()).toHaveLength(2);
  });

  it('with a query that is not known is refused', async () => {
    const thread = await ThreadClient.create(own.app, own.agentId);
    for (const query of [{ interrupt: 'perhaps' }, { interrupt: ['true', 'true'] }, { wait: 1 }]) {
      expectProblem(await thread.steer(thread.request('x'), { query }), 400, 'invalid_request');
    }
  });

  it('of a thread, an agent or a key that are others is refused', async () => {
    const { thread } = await own.startHeld();
    const nowhere = new ThreadClient(own.app, own.agentId, 'nowhere');
    expectProblem(await nowhere.steer(nowhere.request('x')), 404, 'thread_not_found');
    expectProblem(
      await new ThreadClient(own.app, own.agentId, '%00').steer(thread.request('x')),
      404,
      'thread_not_found',
    );
    const other = new ThreadClient(own.app, await createAgent(own.app), thread.id);
    expectProblem(await other.steer(other.request('x')), 400, 'agent_mismatch');
    const missing = new ThreadClient(own.app, unusedId(), thread.id);
    expectProblem(await missing.steer(missing.request('x')), 404, 'agent_not_found');
    const stranger = await newTenant();
    expectProblem(await thread.steer(thread.request('x'), { key: stranger.apiKey }), 403, 'organization_mismatch');
    await stranger.close();
    expectProblem(await thread.steer(thread.request('x'), { key: 'nothing' }), 401, 'credential_invalid');
    expect(await thread.messages()).toHaveLength(2);
  });

  it('of an agent that was deactivated is refused', async () => {
    const agentId = await createAgent(own.app, [own.connectionId]);
    const thread = await ThreadClient.create(own.app, agentId);
    const taskId = await thread.postMessage('/call hold {}');
    await eventually(() => expect(own.upstream.calls).toHaveLength(1));
    await succeed(own.app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id: agentId, data: { status: 'inactive' } });
    expectProblem(await thread.steer(thread.request('x')), 503, 'connection_unavailable');
    own.release();
    await thread.waitFor(taskId, 'completed');
  });

  it('with the id of a message that is there is refused, and the run does not wait for it', async () => {
    const { thread, taskId } = await own.startHeld({ messageId: 'mine' });
    expectProblem(await thread.steer(thread.request('x', { messageId: 'mine' })), 409, 'conflict');
    own.release();
    expect(await thread.waitFor(taskId, 'completed')).toMatchObject({ steps: 2 });
    expect(await thread.messages()).toHaveLength(2);
  });

  it('needs a browser token that may post', async () => {
    const { thread, taskId } = await own.startHeld();
    const tokenFor = async (permissions: string[]): Promise<string> =>
      (await succeed<{ token: string }>(own.app, 'THREAD_TOKEN_CREATE', { thread_id: thread.id, permissions })).token;
    const [reads, posts] = await Promise.all([tokenFor(['read', 'cancel']), tokenFor(['post'])]);
    expectProblem(await thread.steer(thread.request('x'), { key: reads }), 403, 'permission_denied');
    const waits = { key: posts, headers: { prefer: 'wait=1' } };
    expectProblem(await thread.steer(thread.request('x'), waits), 403, 'permission_denied');
    const taken = await thread.steer(thread.request('from a browser'), { key: posts }).expect(202);
    expect(taken.body).toEqual({ taskId, steered: true });
    const other = await ThreadClient.create(own.app, own.agentId);
    expect((await other.steer(other.request('x'), { key: posts })).status).toBe(403);
    own.release();
    await thread.waitFor(taskId, 'completed');
    expect(own.asked().at(-1)).toBe('user: from a browser');
  });

  it('with an Idempotency-Key is stored once, whatever comes of it', async () => {
    const { thread, taskId } = await own.startHeld();
    const idempotencyKey = unusedId();
    const answers = await Promise.all([1, 2, 3, 4].map(() => steer(thread, 'once', { idempotencyKey })));
    expect(answers).toEqual(answers.map(() => ({ taskId, steered: true })));
    const headers = { 'idempotency-key': idempotencyKey };
    for (const refused of [
      thread.steer(thread.request('else'), { headers }),
      thread.steer(thread.request('once'), { headers, query: { interrupt: true } }),
      thread.post(thread.request('once'), { headers }),
      supertest(own.app.url)
        .post(`/api/${own.app.org}/agent-runtime/threads/${thread.id}/regenerate`)
        .set({ authorization: `Bearer ${own.app.apiKey}`, ...headers })
        .send({}),
    ]) {
      expectProblem(await refused, 409, 'idempotency_conflict');
    }
    await thread.cancel(taskId).expect(202);
    await thread.waitFor(taskId, 'cancelled');
    const again = await steer(thread, 'once', { idempotencyKey });
    expect(again).toEqual({ taskId: expect.not.stringMatching(taskId), steered: false });
    await thread.waitFor(again.taskId, 'completed');
    expect(await steer(thread, 'once', { idempotencyKey })).toEqual(again);
    expect((await thread.messages()).filter(({ role }) => role === 'user')).toHaveLength(2);
  });

  it('with an Idempotency-Key that an old run has becomes a run of its own', async () => {
    const idempotencyKey = unusedId();
    const { thread, taskId } = await own.startHeld();
    const posted = await thread
      .post(thread.request('old'), { headers: { 'idempotency-key': idempotencyKey } })
      .expect(202);
    const { taskId: old } = posted.body as { taskId: string };
    await thread.cancel(old).expect(202);
    await own.app.query(`UPDATE runs SET created_at = created_at - interval '2 days' WHERE id = $1`, [old]);
    expect(await steer(thread, 'again', { idempotencyKey })).toEqual({ taskId, steered: true });
    await thread.cancel(taskId).expect(202);
    await thread.waitFor(taskId, 'cancelled');
    const again = await steer(thread, 'again', { idempotencyKey });
    expect(again).toMatchObject({ steered: false });
    await thread.waitFor(again.taskId, 'completed');
  });

  it('that brings too much is refused, and what came before stays', async () => {
    const { thread, taskId } = await own.startHeld();
    const large = 'x'.repeat(900_000);
    for (const _ of [1, 2]) expect(await steer(thread, large)).toEqual({ taskId, steered: true });
    expectProblem(await thread.steer(thread.request(large)), 429, 'too_many_runs');
    expect(await thread.messages()).toHaveLength(4);
    await thread.cancel(taskId).expect(202);
  });

  it('on an idle thread with an Idempotency-Key posts one run', async () => {
    const thread = await ThreadClient.create(own.app, own.agentId);
    const idempotencyKey = unusedId();
    const answers = await Promise.all([1, 2, 3, 4].map(() => steer(thread, 'once', { idempotencyKey })));
    expect(new Set(answers.map(({ taskId }) => taskId)).size).toBe(1);
    expect(answers.every(({ steered }) => !steered)).toBe(true);
  });

  it('answers with the result of the run that takes the message', async () => {
    const { thread, taskId } = await own.startHeld();
    own.model.script({ kind: 'text', deltas: ['The other one.'] });
    const waiting = thread
      .steer(thread.request('Which?'), { headers: { prefer: 'wait=30' } })
      .then((response) => response);
    await eventually(async () => expect(await thread.messages()).toHaveLength(3));
    own.release();
    const response = await waiting;
    expect(response.status).toBe(200);
    expect(resultOf(response)).toMatchObject({ taskId, status: 'completed', message: { role: 'assistant' } });
    expect(response.headers['preference-applied']).toBe('wait=30');
  });

  it('answers with the result of its own run when the run ends first, and late with its id', async () => {
    const { thread, taskId } = await own.startHeld();
    const late = await thread.steer(thread.request('late'), { headers: { prefer: 'wait=1' } }).expect(202);
    expect(late.body).toEqual({ taskId, steered: true });
    const waiting = thread
      .steer(thread.request('Which?'), { headers: { prefer: 'wait=30' } })
      .then((response) => response);
    await eventually(async () => expect(await thread.messages()).toHaveLength(4));
    await thread.cancel(taskId).expect(202);
    const response = await waiting;
    expect(response.status).toBe(200);
    const result = resultOf(response);
    expect(result).toMatchObject({ status: 'completed' });
    expect(result.taskId).not.toBe(taskId);
    expect(JSON.stringify(result.message?.parts)).toContain('You said: Which?');
    expect((await readRun(own.app, taskId)).body).toMatchObject({ status: 'cancelled' });
  });

  it('is on record with who sent it, once', async () => {
    const { thread, taskId } = await own.startHeld();
    const { key, id } = (await own.app.tool('API_KEY_CREATE', { name: 'heckler', permissions: {} })).body as {
      key: string;
      id: string;
    };
    for (let n = 0; n < 2; n++)
      await thread.steer(thread.request('Look'), { key, headers: { 'idempotency-key': 'k' } });
    const where = { field: ['target_id'], operator: 'eq', value: taskId };
    const { items } = await succeed<{ items: object[] }>(own.app, 'AUDIT_EVENTS_LIST', { where });
    expect(items).toMatchObject([
      { event: 'run.steered', actor: { api_key_id: id }, target: { type: 'run', id: taskId } },
    ]);
    own.release();
    await thread.waitFor(taskId, 'completed');
  });

  it('is answered with the stream of the run that takes the message', async () => {
    const { thread, taskId } = await own.startHeld();
    const response = await openSteered(thread, 'Which?');
    own.release();
    const taken = await collectPosted(response);
    expect(taken).toMatchObject({ status: 200, taskId, ending: 'data: [DONE]' });
    await thread.expectWhole(taskId, taken);
    expect(taken.chunks).toContainEqual(expect.objectContaining({ type: 'data-steer' }));
  });

  it('is answered with the streams of both when the run ends first', async () => {
    const { thread, taskId } = await own.startHeld();
    const response = await openSteered(thread, 'mine');
    await thread.cancel(taskId).expect(202);
    const [first, second, rest] = (await response.text()).split('data: [DONE]');
    expect(first).toContain('"type":"abort"');
    expect(second).toContain('"delta":"mine"');
    expect(second).toContain('"type":"finish"');
    expect(rest?.trim()).toBe('');
  });

  it('1000 times in a row is taken up to the limit, and nothing is lost', async () => {
    const { thread, taskId } = await own.startHeld();
    const statuses: number[] = [];
    const one = async (n: number): Promise<void> => {
      const answer = await thread.steer(thread.request(`word ${n}`));
      statuses.push(answer.status);
      if (answer.status === 429) {
        expectProblem(answer, 429, 'too_many_runs');
        expect(answer.headers['retry-after']).toBe('5');
      }
    };
    let next = 0;
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        while (next < 1000) await one(next++);
      }),
    );
    expect([
      statuses.filter((status) => status === 202).length,
      statuses.filter((status) => status === 429).length,
    ]).toEqual([100, 900]);
    own.release();
    await thread.waitFor(taskId, 'completed');
    const words = (await thread.messages()).filter(({ metadata }) => 'steerId' in metadata);
    expect(words).toHaveLength(100);
    expect(own.asked().filter((line) => line.startsWith('user: word'))).toEqual(
      words.map(({ parts }) => `user: ${(parts[0] as { text: string }).text}`),
    );
    expect(await thread.run(taskId)).toMatchObject({ steps: 2 });
    await thread.expectWhole(taskId, await thread.collect(taskId));
  });
});

function openSteered(thread: ThreadClient, text: string): Promise<Response> {
  return fetch(`${own.app.url}/api/${own.app.org}/agent-runtime/threads/${thread.id}/steer`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${own.app.apiKey}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
    body: JSON.stringify(thread.request(text)),
  });
}
