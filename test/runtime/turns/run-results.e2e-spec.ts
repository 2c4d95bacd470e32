import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import { RunReader } from '../../../src/runtime/runs/records/run-reader.js';
import { RunEvents } from '../../../src/runtime/events/run-events.js';
import { RunWaiting } from '../../../src/runtime/turns/run-waiting.js';
import { createAgent, LONG, succeed, ThreadClient, unusedId } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { countSubscriptions } from '../../support/count-subscriptions.js';
import { expectProblem } from '../../support/problem.js';
import { eventually } from '../../support/eventually.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { ask, readRun, resultOf } from './turns.support.js';
import { useStarted } from '../../support/use-started.js';

const app = useStarted(startTestApp);
let agentId: string;
let thread: ThreadClient;

beforeAll(async () => {
  agentId = await createAgent(app);
  thread = await ThreadClient.create(app, agentId);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const newThread = () => ThreadClient.create(app, agentId);
const runPath = (taskId: string) => `/api/default/agent-runtime/runs/${taskId}`;

describe('a run request that waits', () => {
  it('is answered with the result of its run', async () => {
    const answer = await ask(thread, 'hello', 60).expect(200);
    const { taskId, message } = resultOf(answer);
    expect(answer.headers).toMatchObject({ 'preference-applied': 'wait=60', location: runPath(taskId) });
    expect(answer.body).toEqual({
      taskId,
      status: 'completed',
      output: null,
      message: await thread.answer(taskId),
      usage: { inputTokens: expect.any(Number), outputTokens: expect.any(Number), totalTokens: expect.any(Number) },
      error: null,
      pending_approvals: [],
      answered_approvals: [],
    });
    expect(JSON.stringify(message?.parts)).toContain('You said: hello');
  });

  it('is answered with the failure of its run', async () => {
    const answer = await ask(thread, '/words 3\n/fail out of coal', 60).expect(200);
    expect(answer.body).toMatchObject({ status: 'failed', error: { code: expect.any(String) } });
    expect(resultOf(answer).error?.message).toContain('out of coal');
    expect(JSON.stringify(resultOf(answer).message?.parts)).toContain('word1');
  });

  it('is answered when its run is cancelled, in the queue or while it runs', async () => {
    const busy = await newThread();
    const running = ask(busy, `/words 2\n${LONG}`, 60).then(resultOf);
    await eventually(async () => expect((await busy.messages()).length).toBeGreaterThan(0));
    const queued = ask(busy, 'hello', 60).then(resultOf);
    const questions = async () => (await busy.messages()).filter(({ role }) => role === 'user');
    await eventually(async () => expect(await questions()).toHaveLength(2));
    await busy.cancel().expect(202);
    expect(await running).toMatchObject({ status: 'cancelled', error: null });
    expect(await queued).toMatchObject({ status: 'cancelled', error: null });
  });

  it('is answered with 202 when the time has passed', async () => {
    const busy = await newThread();
    const answer = await ask(busy, LONG, 1).expect(202);
    const { taskId } = resultOf(answer);
    expect(answer.body).toEqual({ taskId: expect.any(String) });
    expect(answer.headers).toMatchObject({ 'preference-applied': 'wait=1', location: runPath(taskId) });
    await busy.waitFor(taskId, 'running');
    await busy.cancel().expect(202);
  });

  it('waits at most 60 seconds, and says so', async () => {
    const answer = await ask(thread, 'hello', 86_400).expect(200);
    expect(answer.headers['preference-applied']).toBe('wait=60');
  });

  it.each(['wait=abc', 'wait=0', 'wait', 'wait=-5'])('is refused with Prefer: %s', async (prefer) => {
    const before = (await thread.messages()).length;
    const problem = expectProblem(
      await thread.post(thread.request('hello'), { headers: { prefer } }),
      400,
      'invalid_request',
    );
    expect(problem.errors).toMatchObject([{ path: 'Prefer' }]);
    expect(await thread.messages()).toHaveLength(before);
  });

  it('with another preference is answered as the contract has it', async () => {
    const answer = await thread.post(thread.request('hello'), { headers: { prefer: 'respond-async' } }).expect(202);
    expect(answer.body).toEqual({ taskId: expect.any(String) });
    expect(answer.headers).not.toHaveProperty('preference-applied');
    const { taskId } = answer.body as { taskId: string };
    expect(answer.headers).toMatchObject({ location: runPath(taskId) });
    const cancelled = await thread.cancel(taskId).expect(202);
    expect(cancelled.headers).toMatchObject({ location: runPath(taskId) });
    await thread.waitFor(taskId, 'completed', 'cancelled');
    const nothing = await thread.cancel().expect(202);
    expect(nothing.headers).toMatchObject({ location: `/api/default/agent-runtime/threads/${thread.id}/stream` });
    const refused = await thread.cancel().query({ taskid: taskId }).expect(400);
    expect(refused.body).toMatchObject({ code: 'invalid_request', errors: [{ path: 'taskid' }] });
  });

  it('is refused with query parameters, which mean nothing here', async () => {
    const answer = await thread.post(thread.request('hello')).query({ wait: 5 });
    expect(expectProblem(answer, 400, 'invalid_request').errors).toMatchObject([{ path: 'wait' }]);
  });

  it('joins the first run when its Idempotency-Key is repeated, also at the same time and when that is over', async () => {
    const headers = { 'idempotency-key': unusedId() };
    const text = '/wait 500\nhello';
    const together = await Promise.all([1, 2, 3].map(() => ask(thread, text, 60, headers).expect(200)));
    const after = await ask(thread, text, 60, headers).expect(200);
    for (const { body } of together) expect(body).toEqual(after.body);
    expectProblem(await ask(thread, 'something else', 60, headers), 409, 'idempotency_conflict');
  });

  it('costs no connection to the database while it waits', async () => {
    const threads = await Promise.all(Array.from({ length: 40 }, newThread));
    const waiting = threads.map((one) => ask(one, LONG, 60).then(resultOf));
    for (const one of threads) await eventually(async () => expect((await one.messages()).length).toBeGreaterThan(0));
    await thread.status();
    for (const one of threads) await one.cancel().expect(202);
    for (const result of await Promise.all(waiting)) expect(result.status).toBe('cancelled');
  });

  it('leaves nothing behind when its caller leaves, and the run goes on', async () => {
    const busy = await newThread();
    const subscriptions = countSubscriptions(app);
    const request = ask(busy, LONG, 60);
    request.then(undefined, () => undefined);
    await eventually(() => expect(subscriptions()).toBe(1));
    request.abort();
    await eventually(() => expect(subscriptions()).toBe(0));
    const [question] = await busy.messages();
    const taskId = String(question?.metadata['taskId']);
    expect(await busy.waitFor(taskId, 'running', 'cancelled', 'completed')).toMatchObject({ status: 'running' });
    await busy.cancel().expect(202);
  });

  it('ends by the event, though the database is not asked', async () => {
    jest.spyOn(RunReader.prototype, 'findBusyAmong').mockImplementation(async (ids) => new Set(ids));
    const watches = jest.spyOn(RunEvents.prototype, 'watchStops');
    const busy = await newThread();
    const answering = ask(busy, LONG, 60).expect(200).then(resultOf);
    await eventually(() => expect(watches).toHaveBeenCalled());
    // From now on, the request hears of the end.
    await watches.mock.results[0]?.value;
    await busy.cancel().expect(202);
    expect(await answering).toMatchObject({ status: 'cancelled' });
  });

  it('ends without any event', async () => {
    jest.spyOn(RunEvents.prototype, 'watchStops').mockRejectedValue(new Error('The bus is away.'));
    expect((await ask(thread, '/wait 300\nhello', 60).expect(200)).body).toMatchObject({ status: 'completed' });
  });

  it('is answered with 202 when the result cannot be read', async () => {
    jest.spyOn(RunReader.prototype, 'findOutcome').mockRejectedValueOnce(new Error('Connection terminated'));
    const answer = await ask(thread, 'hello', 60).expect(202);
    expect(answer.body).toEqual({ taskId: expect.any(String) });
  });

  it('ends when its key is deleted meanwhile, which also ends the run', async () => {
    const permissions = { self: [] };
    const { id, key } = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', { name: 'k', permissions });
    const busy = await newThread();
    const waits = jest.spyOn(RunWaiting.prototype, 'untilOver');
    const headers = { prefer: 'wait=60' };
    const answering = busy.post(busy.request(LONG), { key, headers }).then((answer) => answer);
    await eventually(() => expect(waits.mock.calls.length).toBeGreaterThan(0));
    await succeed(app, 'API_KEY_DELETE', { id });
    const answer = await answering;
    // The request and the run notice it in either order.
    if (answer.status === 202) expect(answer.body).toEqual({ taskId: expect.any(String) });
    else expect(answer.body).toMatchObject({ status: 'failed', error: { code: 'credential_revoked' } });
  });
});

describe('a run read by its id', () => {
  it('has its answer, whatever became of it', async () => {
    const taskId = await thread.postMessage('/fail out of coal');
    await thread.waitFor(taskId, 'failed');
    const { body } = await readRun(app, taskId).expect(200);
    expect(body).toMatchObject({
      taskId,
      status: 'failed',
      message: await thread.answer(taskId),
      error: { message: expect.stringContaining('out of coal') },
      pending_approvals: [],
      answered_approvals: [],
    });
  });

  it('has the parts so far while it runs, and null before the first', async () => {
    const busy = await newThread();
    const taskId = await busy.postMessage(`/words 5\n${LONG}`);
    const queued = await busy.postMessage('hello');
    expect(resultOf(await readRun(app, queued, { wait: 0 }).expect(200))).toMatchObject({
      status: 'queued',
      message: null,
      usage: null,
    });
    await eventually(async () =>
      expect(JSON.stringify(resultOf(await readRun(app, taskId)).message?.parts ?? [])).toContain('word5'),
    );
    expect(resultOf(await readRun(app, taskId, { wait: 1 }).expect(200)).status).toBe('running');
    await busy.cancel().expect(202);
  });

  it('can be waited for, by several at once', async () => {
    const taskId = await thread.postMessage('/wait 500\nhello');
    const reads = await Promise.all([1, 2].map(() => readRun(app, taskId, { wait: 60 }).expect(200)));
    for (const { body } of reads) expect(body).toMatchObject({ taskId, status: 'completed' });
  });

  it('is not waited for when it is over', async () => {
    const { taskId } = resultOf(await ask(thread, 'hello', 60).expect(200));
    const waits = jest.spyOn(RunWaiting.prototype, 'untilOver');
    await readRun(app, taskId, { wait: 60 }).expect(200);
    expect(waits).not.toHaveBeenCalled();
  });

  it.each(['wait=61', 'wait=-1', 'wait=abc', 'wait=', 'wait=1.5', 'wait=1&wait=2', 'waits=1', '__proto__=1'])(
    'is refused with ?%s',
    async (query) => {
      const { taskId } = resultOf(await ask(thread, 'hello', 60));
      expectProblem(await readRun(app, taskId, query), 400, 'invalid_request');
    },
  );

  it.each(['nonsense', '%00', '00000000-0000-0000-0000-000000000000'])('with the id %s is unknown', async (id) => {
    expectProblem(await readRun(app, id, { wait: 5 }), 404, 'run_not_found');
  });

  it('belongs to its organization', async () => {
    const taskId = await thread.postMessage('hello');
    const second = await startSecondOrganization(app, 'second');
    const { body } = await second.tool('API_KEY_CREATE', { name: 'Theirs', permissions: { self: ['*'] } });
    const { key } = body as { key: string };
    expectProblem(await readRun({ ...app, org: 'second', apiKey: key }, taskId), 404, 'run_not_found');
    expectProblem(await readRun({ ...app, apiKey: key }, taskId), 403, 'organization_mismatch');
    expectProblem(await readRun({ ...app, apiKey: 'nonsense' }, taskId), 401, 'credential_invalid');
  });

  it('is not read by a key that ends while it waits', async () => {
    const permissions = { self: [] };
    const { id, key } = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', { name: 'k', permissions });
    const busy = await newThread();
    const taskId = await busy.postMessage(LONG);
    const waits = jest.spyOn(RunWaiting.prototype, 'untilOver');
    const reading = readRun({ ...app, apiKey: key }, taskId, { wait: 60 }).then((answer) => answer);
    await eventually(() => expect(waits.mock.calls.length).toBeGreaterThan(0));
    await succeed(app, 'API_KEY_DELETE', { id });
    expectProblem(await reading, 401, 'credential_invalid');
    await busy.cancel().expect(202);
  });

  it('needs a grant on the agent where runs need one', async () => {
    const database = app.app.get(DataSource);
    const taskId = await thread.postMessage('hello');
    const permissions = { self: ['*'] };
    const { key } = await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'stranger', permissions });
    await database.query(`UPDATE organizations SET run_access = 'granted' WHERE slug = 'default'`);
    try {
      expectProblem(await readRun({ ...app, apiKey: key }, taskId), 403, 'permission_denied');
    } finally {
      await database.query(`UPDATE organizations SET run_access = 'members' WHERE slug = 'default'`);
    }
  });
});

describe('a browser token', () => {
  async function tokenFor(permissions: readonly string[]): Promise<string> {
    const input = { thread_id: thread.id, permissions };
    return (await succeed<{ token: string }>(app, 'THREAD_TOKEN_CREATE', input)).token;
  }

  it('reads the runs of its thread if it can read, and no others', async () => {
    const taskId = await thread.postMessage('hello');
    const foreign = await (await newThread()).postMessage('hello');
    const apiKey = await tokenFor(['read']);
    await readRun({ ...app, apiKey }, taskId, { wait: 60 }).expect(200);
    expectProblem(await readRun({ ...app, apiKey }, foreign), 404, 'run_not_found');
    expectProblem(await readRun({ ...app, apiKey: await tokenFor(['post']) }, taskId), 403, 'permission_denied');
  });

  it('gets an answer from its post only if it can read', async () => {
    const before = (await thread.messages()).length;
    const key = await tokenFor(['post']);
    for (const headers of [{ prefer: 'wait=5' }, { accept: 'text/event-stream' }]) {
      expectProblem(await thread.post(thread.request('hello'), { key, headers }), 403, 'permission_denied');
    }
    expect(await thread.messages()).toHaveLength(before);
    const reader = await tokenFor(['post', 'read']);
    const headers = { prefer: 'wait=60' };
    await thread.post(thread.request('hello'), { key: reader, headers }).expect(200);
  });
});
