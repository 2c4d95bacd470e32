import { beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { createAgent, succeed, textOf, ThreadClient, unusedId } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { countSubscriptions } from '../../support/count-subscriptions.js';
import { expectProblem } from '../../support/problem.js';
import { eventually } from '../../support/eventually.js';
import { startTcpProxy, through } from '../../support/tcp-proxy.js';
import { createTestDatabase } from '../../support/database.js';
import { collectPosted, openPosted } from './turns.support.js';
import { useStarted } from '../../support/use-started.js';

const app = useStarted(() => startTestApp({ env: { STREAM_KEEP_ALIVE_MS: '200' } }));
let agentId: string;
let thread: ThreadClient;

beforeAll(async () => {
  agentId = await createAgent(app);
  thread = await ThreadClient.create(app, agentId);
});

const newThread = () => ThreadClient.create(app, agentId);
const stream = async (text: string, headers: Record<string, string> = {}, on = thread) =>
  collectPosted(await openPosted(app, on, text, { headers }));
/** The same post, for its refusal. */
const refused = (on: ThreadClient, body: object, headers: object = {}) =>
  on.post(body, { headers: { accept: 'text/event-stream', ...headers } });

describe('a run request that asks for an event stream', () => {
  it('is answered with the stream of its run, from the beginning to the end', async () => {
    const answer = await stream('/words 300');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(answer.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
    expect(answer.ending).toBe('data: [DONE]');
    await thread.expectWhole(answer.taskId, answer);
  });

  it('wins over Prefer', async () => {
    const answer = await stream('hello', { prefer: 'wait=5' });
    expect(answer.headers.has('preference-applied')).toBe(false);
    expect(textOf(answer.chunks)).toContain('You said: hello');
  });

  it('streams exactly its own run on a busy thread', async () => {
    const busy = await newThread();
    const earlier = await busy.postMessage('/wait 500\nearlier');
    const [second, third] = await Promise.all([stream('second', {}, busy), stream('third', {}, busy)]);
    expect(textOf(second.chunks)).toContain('second');
    expect(textOf(third.chunks)).toContain('third');
    expect(new Set([earlier, second.taskId, third.taskId]).size).toBe(3);
    for (const one of [second, third]) await busy.expectWhole(one.taskId, one);
  });

  it('carries the failure of the run', async () => {
    const { chunks, taskId } = await stream('/words 2\n/fail out of coal');
    expect(chunks.at(-1)).toMatchObject({ type: 'error', errorText: expect.stringContaining('out of coal') });
    expect(await thread.run(taskId)).toMatchObject({ status: 'failed' });
  });

  it('is resumed with the id of its last frame', async () => {
    const { ids, taskId } = await stream('/words 50');
    const rest = await (await thread.stream({ lastEventId: ids[3] ?? '' })).collectUntilDone();
    expect(rest.ids).toEqual(ids.slice(4));
    expect(rest.ids.every((id) => id.startsWith(taskId))).toBe(true);
  });

  it('joins the first run when its Idempotency-Key is repeated', async () => {
    const headers = { 'idempotency-key': unusedId() };
    const first = await stream('/wait 300\nhello', headers);
    const [again, other] = await Promise.all([
      stream('/wait 300\nhello', headers),
      stream('/wait 300\nhello', headers),
    ]);
    expect(again.chunks).toEqual(first.chunks);
    expect(other.ids).toEqual(first.ids);
    expectProblem(await refused(thread, thread.request('else'), headers), 409, 'idempotency_conflict');
  });

  it('is gone when the stream of the first run has expired', async () => {
    const headers = { 'idempotency-key': unusedId() };
    const first = await stream('hello', headers);
    await app.app
      .get(DataSource)
      .query('UPDATE run_event_streams SET expires_at = now() WHERE run_id = $1', [first.taskId]);
    const again = await refused(thread, thread.request('hello'), headers);
    expectProblem(again, 410, 'stream_expired');
    expect(again.headers['x-task-id']).toBe(first.taskId);
  });

  it('ends reading when its caller leaves, and the run goes on', async () => {
    const busy = await newThread();
    const subscriptions = countSubscriptions(app);
    const leaving = new AbortController();
    const response = await openPosted(app, busy, '/wait 1000\nhello', { signal: leaving.signal });
    const taskId = response.headers.get('x-task-id') ?? '';
    expect(subscriptions()).toBe(1);
    leaving.abort();
    await eventually(() => expect(subscriptions()).toBe(0));
    await busy.waitFor(taskId, 'completed');
  });

  it('ends with its key', async () => {
    const busy = await newThread();
    const permissions = { self: [] };
    const { id, key } = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', { name: 'k', permissions });
    const response = await openPosted({ ...app, apiKey: key }, busy, '/wait 600000');
    await succeed(app, 'API_KEY_DELETE', { id });
    // Either the reader is disconnected first, or the run of the deleted key is ended first.
    await response.text().catch(() => undefined);
    await busy.waitFor(response.headers.get('x-task-id') ?? '', 'failed');
  });

  it.each([
    ['an unknown agent', () => ({ ...thread.request('hello'), agent: { id: unusedId() } }), 404, 'agent_not_found'],
    ['two messages', () => ({ ...thread.request('hello'), messages: [] }), 400, 'user_message_count'],
  ])('is refused with a problem document for %s, and subscribes to nothing', async (_, body, status, code) => {
    const subscriptions = countSubscriptions(app);
    expectProblem(await refused(thread, body()), status, code);
    expect(subscriptions()).toBe(0);
  });

  it('is refused on an unknown thread', async () => {
    const nowhere = new ThreadClient(app, agentId, 'nowhere');
    expectProblem(await refused(nowhere, nowhere.request('hello')), 404, 'thread_not_found');
  });

  it('has the rate limits of runs in its headers', async () => {
    await succeed(app, 'ORGANIZATION_UPDATE', { limits: { runs_per_minute: 1000 } });
    try {
      // A changed limit counts within a second.
      await eventually(async () => {
        const { headers } = await stream('hello');
        return headers.get('ratelimit-policy')?.includes('"runs";q=1000') === true;
      });
    } finally {
      await succeed(app, 'ORGANIZATION_UPDATE', { limits: null });
    }
  });
});

describe('while the database is away', () => {
  it('each form of a run request is refused, and accepted afterwards', async () => {
    const database = await createTestDatabase();
    const proxy = await startTcpProxy(database.url);
    const url = through(proxy, database.url);
    const service = await startTestApp({ database: { url, drop: () => database.drop() } });
    try {
      const own = await ThreadClient.create(service, await createAgent(service));
      await proxy.cut();
      for (const headers of [{}, { prefer: 'wait=5' }, { accept: 'text/event-stream' }]) {
        expectProblem(await own.post(own.request('hello'), { headers }), 503, 'storage_unavailable');
      }
      await proxy.restore();
      await eventually(async () => expect((await own.post(own.request('hello'))).status).toBe(202));
      await eventually(async () =>
        expect(await collectPosted(await openPosted(service, own, 'again'))).toMatchObject({ ending: 'data: [DONE]' }),
      );
    } finally {
      await service.close();
      await proxy.close();
      await database.drop();
    }
  });
});
