import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type CollectedStream,
  connect,
  createAgent,
  LONG,
  succeed,
  textOf,
  ThreadClient,
} from '../../support/agent-runs.js';
import type { TestApp } from '../../support/app.js';
import { redisServerCommand } from '../../support/redis-server.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { postgresStreams, redisStreams, type StreamBackend } from '../../support/stream-backends.js';
import { eventually } from '../../support/eventually.js';

const REVOKED = { code: 'credential_revoked', message: expect.stringContaining('deleted or has expired') };

interface Key {
  id: string;
  key: string;
}

const redisServer = redisServerCommand();
const backends: [string, () => Promise<StreamBackend>][] = [['PostgreSQL', postgresStreams]];
if (redisServer !== undefined) backends.push(['Redis', () => redisStreams(redisServer)]);

describe.each(backends)('runs of a key that is gone, on %s', (_name, start) => {
  let backend: StreamBackend;
  let app: TestApp;
  let agentId: string;
  let upstream: ScriptedServer;

  beforeAll(async () => {
    backend = await start();
    app = await backend.start({ ROLE: 'api' });
    await backend.start({ ROLE: 'worker', RUN_CONCURRENCY: '4' });
    upstream = await startScripted(
      legacyServer(({ message }, response) => {
        const tools = ['hang', 'echo'].map((name) => ({ name, inputSchema: { type: 'object' } }));
        if (message.method === 'tools/list') sendResult(response, message, { tools });
        if (message.params?.name === 'echo') sendResult(response, message, { content: [] });
      }).script,
    );
    agentId = await createAgent(app, [await connect(app, upstream.url)]);
  });

  afterAll(async () => {
    await backend?.close();
    await upstream?.close();
  });

  function createKey(more: object = {}): Promise<Key> {
    return succeed<Key>(app, 'API_KEY_CREATE', { name: 'brief', permissions: { '*': ['*'] }, ...more });
  }

  async function post(thread: ThreadClient, text: string, key?: Key): Promise<string> {
    const answer = await thread.post(thread.request(text), { key: key?.key ?? app.apiKey });
    expect(answer.status).toBe(202);
    return (answer.body as { taskId: string }).taskId;
  }

  /** The run has failed because of its key, for its record, its readers and its thread alike. */
  async function expectRevoked(thread: ThreadClient, taskId: string): Promise<CollectedStream> {
    const run = await thread.waitFor(taskId, 'failed', 'completed', 'cancelled');
    expect(run).toMatchObject({ status: 'failed', error: REVOKED, finish_reason: 'error' });
    const collected = await thread.collect(taskId);
    expect(collected.chunks.at(-1)).toEqual({ type: 'error', errorText: run.error?.message });
    return collected;
  }

  it('end at once, in their order, while the runs of other keys continue', async () => {
    const key = await createKey();
    const thread = await ThreadClient.create(app, agentId);
    const running = await post(thread, LONG, key);
    await thread.waitFor(running, 'running');
    const others = await post(thread, '/words 3');
    const waiting = await post(thread, '/words 3', key);
    const last = await post(thread, '/words 3');
    const reader = await thread.stream({ query: { taskId: waiting } });

    await succeed(app, 'API_KEY_DELETE', { id: key.id });
    await thread.expectWhole(running, await expectRevoked(thread, running));
    const unstarted = await expectRevoked(thread, waiting);
    expect(unstarted.chunks.map(({ type }) => type)).toEqual(['start', 'error']);
    expect((await reader.collectUntilDone()).chunks).toEqual(unstarted.chunks);
    expect(await thread.run(waiting)).toMatchObject({ steps: 0 });
    for (const taskId of [others, last]) {
      expect(await thread.waitFor(taskId, 'completed', 'failed')).toMatchObject({ status: 'completed' });
    }
    expect(await thread.status()).toBe('completed');
  });

  it('end while they are queued behind the long run of another key', async () => {
    const key = await createKey();
    const thread = await ThreadClient.create(app, agentId);
    const running = await post(thread, LONG);
    await thread.waitFor(running, 'running');
    const waiting = await post(thread, '/words 3', key);
    await succeed(app, 'API_KEY_DELETE', { id: key.id });
    await expectRevoked(thread, waiting);
    expect(await thread.run(running)).toMatchObject({ status: 'running' });
    expect(await thread.status()).toBe('in_progress');
    await thread.cancel(running);
    await thread.waitFor(running, 'cancelled');
  });

  it('end when the key expires', async () => {
    const thread = await ThreadClient.create(app, agentId);
    // On a slow machine, a key can expire before its first use.
    const posted = await eventually(async () => {
      const { key } = await createKey({ expiresIn: 2 });
      const answer = await thread.post(thread.request(LONG), { key });
      return answer.status !== 401 && answer;
    });
    expect(posted.status).toBe(202);
    await expectRevoked(thread, (posted.body as { taskId: string }).taskId);
    expect(await thread.status()).toBe('failed');
  });

  it('cancel the tool call that is under way, at the upstream too', async () => {
    const key = await createKey();
    const thread = await ThreadClient.create(app, agentId);
    const taskId = await post(thread, '/call hang {}', key);
    await eventually(() => expect(upstream.calls('tools/call')).toHaveLength(1));
    await succeed(app, 'API_KEY_DELETE', { id: key.id });
    await expectRevoked(thread, taskId);
    const [call] = upstream.calls('tools/call');
    expect(await call?.hungUp).toBe(true);
    const cancelled = await eventually(() => upstream.calls('notifications/cancelled')[0] ?? false);
    expect(cancelled.message.params).toMatchObject({ requestId: call?.message.id });
  });

  it('leave what the upstream keeps for the thread to the runs of other keys', async () => {
    const key = await createKey();
    const thread = await ThreadClient.create(app, agentId);
    const sessionOfRun = async (poster?: Key): Promise<unknown> => {
      const before = upstream.calls('tools/call').length;
      await thread.waitFor(await post(thread, '/call echo {}', poster), 'completed');
      return upstream.calls('tools/call')[before]?.headers['mcp-session-id'];
    };
    const session = await sessionOfRun(key);
    expect(session).toEqual(expect.any(String));
    const revoked = await post(thread, LONG, key);
    await succeed(app, 'API_KEY_DELETE', { id: key.id });
    await expectRevoked(thread, revoked);
    expect(await sessionOfRun()).toBe(session);
  });

  it('continue when the permissions of the key change, as a run acts with the selection of its agent', async () => {
    const key = await createKey();
    const thread = await ThreadClient.create(app, agentId);
    const taskId = await post(thread, '/wait 3000\n/words 3', key);
    await thread.waitFor(taskId, 'running', 'completed');
    await succeed(app, 'API_KEY_UPDATE', { id: key.id, permissions: {} });
    expect(await thread.waitFor(taskId, 'completed', 'failed')).toMatchObject({ status: 'completed' });
    expect(textOf((await thread.collect(taskId)).chunks)).not.toBe('');
  });
});
