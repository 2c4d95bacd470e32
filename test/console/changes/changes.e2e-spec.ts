import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import supertest from 'supertest';
import { DataSource } from 'typeorm';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Change, Observed } from '../../../src/console/changes/change.js';
import { ObservedRepository } from '../../../src/console/changes/observed.repository.js';
import { connect, createAgent, LONG, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { expectProblem } from '../../support/problem.js';
import { StalledReader } from '../../support/stalled-reader.js';
import { startSecondOrganization } from '../../support/second-organization.js';

let service: TestApp;

beforeAll(async () => {
  service = await startTestApp({ env: { STREAM_KEEP_ALIVE_MS: '200' } });
});
afterAll(() => service?.close());

/** The changes of an open stream, one after the other, and how to leave. */
async function openChanges(key = service.apiKey, url = service.url, slug = 'default') {
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/api/${slug}/events`, { headers, signal: leaving.signal });
  expect(response.status).toBe(200);
  let text = '';
  async function* read(): AsyncGenerator<Change> {
    for await (const part of response.body ?? []) {
      text += Buffer.from(part as Uint8Array).toString();
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) if (block.startsWith('data: ')) yield JSON.parse(block.slice(6)) as Change;
    }
  }
  const changes = read();
  const seen: Change[] = [];
  const until = async (isWanted: (change: Change) => boolean): Promise<Change> => {
    for (;;) {
      const { value, done } = await changes.next();
      if (done === true) throw new Error(`The stream ended after ${JSON.stringify(seen)}`);
      seen.push(value);
      if (isWanted(value)) return value;
    }
  };
  await until(({ type }) => type === 'resync');
  return { seen, until, leave: () => leaving.abort() };
}

async function makeKey(self: string[]): Promise<{ id: string; key: string }> {
  return (await service.tool('API_KEY_CREATE', { name: 'reader', permissions: { self } }).expect(200)).body;
}

describe('the stream of changes', () => {
  it('shows a run from its start to its end, and its thread', async () => {
    const client = await ThreadClient.create(service, await createAgent(service));
    const stream = await openChanges();
    const taskId = await client.postMessage(LONG);
    expect(await stream.until(({ type, id }) => type === 'run' && id === taskId)).toMatchObject({
      thread_id: client.id,
      status: expect.stringMatching(/^(queued|running)$/),
      at: expect.stringMatching(/Z$/),
    });
    await stream.until(({ type, id, status }) => type === 'thread' && id === client.id && status === 'in_progress');
    await service.tool('RUN_CANCEL', { id: taskId }).expect(200);
    await stream.until(({ id, status }) => id === taskId && status === 'cancelled');
    await stream.until(({ type, id, status }) => type === 'thread' && id === client.id && status === 'failed');
    stream.leave();
  });

  it('shows a run that starts and ends between two looks', async () => {
    const client = await ThreadClient.create(service, await createAgent(service));
    const stream = await openChanges();
    const taskId = await client.postMessage('hello');
    await stream.until(({ id, status }) => id === taskId && status === 'completed');
    stream.leave();
  });

  it('shows, after its first resync, a run that started and ended while it was opened', async () => {
    const client = await ThreadClient.create(service, await createAgent(service));
    const { states } = ObservedRepository.prototype;
    const looking = Promise.withResolvers<void>();
    const looks = jest.spyOn(ObservedRepository.prototype, 'states').mockImplementation(async function (
      this: ObservedRepository,
      ids,
    ) {
      await looking.promise;
      return states.call(this, ids);
    });
    try {
      const opening = openChanges();
      await eventually(() => expect(looks).toHaveBeenCalled());
      const { taskId } = await client.ask('hello');
      looking.resolve();
      const stream = await opening;
      await stream.until(({ id, status }) => id === taskId && status === 'completed');
      stream.leave();
    } finally {
      looks.mockRestore();
    }
  });

  it('shows connections that come, change and go', async () => {
    const stream = await openChanges();
    const id = await connect(service, 'http://127.0.0.1:9/mcp');
    const isIt = (change: Change) => change.type === 'connection' && change.id === id;
    await stream.until(isIt);
    await service.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data: { title: 'Other' } }).expect(200);
    await stream.until(isIt);
    await service.tool('COLLECTION_CONNECTIONS_DELETE', { id }).expect(200);
    await stream.until((change) => isIt(change) && change.status === 'deleted');
    stream.leave();
  });

  it('shows approvals that are requested and closed', async () => {
    const database = service.app.get(DataSource);
    const client = await ThreadClient.create(service, await createAgent(service));
    const taskId = await client.postMessage('hello');
    await client.waitFor(taskId, 'completed');
    const stream = await openChanges();
    await database.query(`UPDATE runs SET status = 'waiting' WHERE id = $1`, [taskId]);
    await database.query(
      `INSERT INTO run_approvals (id, run_id, tool_call_id, tool_name, connection_id, input, expires_at)
       VALUES (gen_random_uuid(), $1, 'call', 'tool', gen_random_uuid(), '{}', now() + interval '1 hour')`,
      [taskId],
    );
    const requested = await stream.until(({ type, status }) => type === 'approval' && status === 'requested');
    expect(requested.thread_id).toBe(client.id);
    await database.query('UPDATE run_approvals SET closed_at = now() WHERE run_id = $1', [taskId]);
    await stream.until(({ type, id, status }) => type === 'approval' && id === requested.id && status === 'closed');
    await database.query(`UPDATE runs SET status = 'completed' WHERE id = $1`, [taskId]);
    stream.leave();
  });

  it('shows the progress of a run whose status stays the same', async () => {
    const client = await ThreadClient.create(service, await createAgent(service));
    const stream = await openChanges();
    // Each call ends a step.
    const taskId = await client.postMessage('/wait 2000\n/call missing {}\n'.repeat(20));
    const isRunning = ({ id, status }: Change) => id === taskId && status === 'running';
    await stream.until(isRunning);
    await stream.until(isRunning);
    await stream.until(isRunning);
    stream.leave();
    await service.tool('RUN_CANCEL', { id: taskId }).expect(200);
  });

  it('shows schedules that come, fire and go', async () => {
    const database = service.app.get(DataSource);
    const agentId = await createAgent(service);
    const stream = await openChanges();
    const data = { title: 'Nightly', virtual_mcp_id: agentId, cron: '0 3 * * *', timezone: 'UTC', message: 'hello' };
    const { body } = await service.tool('SCHEDULE_CREATE', { data }).expect(200);
    const { id } = body.item as { id: string };
    const isIt = (change: Change) => change.type === 'schedule' && change.id === id;
    expect(await stream.until(isIt)).toMatchObject({ status: 'enabled' });
    await database.query(`UPDATE schedules SET next_run_at = now() WHERE id = $1`, [id]);
    await stream.until(({ type, status }) => type === 'run' && status === 'completed');
    await service.tool('SCHEDULE_UPDATE', { id, data: { enabled: false } }).expect(200);
    await stream.until((change) => isIt(change) && change.status === 'disabled');
    await service.tool('SCHEDULE_DELETE', { id }).expect(200);
    await stream.until((change) => isIt(change) && change.status === 'deleted');
    stream.leave();
  });

  it('shows webhooks, also when a delivery was tried', async () => {
    const stream = await openChanges();
    const data = { url: 'http://127.0.0.1:9/hook', events: ['run.completed'] };
    const { body } = await service.tool('WEBHOOK_CREATE', { data }).expect(200);
    const { id } = body.item as { id: string };
    const isIt = (change: Change) => change.type === 'webhook' && change.id === id;
    expect(await stream.until(isIt)).toMatchObject({ status: 'enabled' });
    const client = await ThreadClient.create(service, await createAgent(service));
    await client.postMessage('hello');
    await stream.until(isIt);
    await service.tool('WEBHOOK_DELETE', { id }).expect(200);
    await stream.until((change) => isIt(change) && change.status === 'deleted');
    stream.leave();
  });

  it('shows nothing of other organizations', async () => {
    const second = await startSecondOrganization(service, 'second');
    const stream = await openChanges();
    const { body } = await second.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Foreign' } });
    const own = await createAgent(service);
    await stream.until(({ id }) => id === own);
    expect(stream.seen.map(({ id }) => id)).not.toContain(body.item.id);
    stream.leave();
  });

  it('shows what the caller may list, and is closed to others', async () => {
    const { key } = await makeKey(['COLLECTION_THREADS_LIST']);
    const stream = await openChanges(key);
    const agentId = await createAgent(service);
    const client = await ThreadClient.create(service, agentId);
    await client.postMessage('hello');
    await stream.until(({ type, id }) => type === 'thread' && id === client.id);
    expect(stream.seen.every(({ type }) => type === 'thread' || type === 'resync')).toBe(true);
    stream.leave();
    const other = await makeKey(['API_KEY_LIST']);
    const refused = await supertest(service.url).get('/api/default/events').set('authorization', `Bearer ${other.key}`);
    expectProblem(refused, 403, 'permission_denied');
  });

  it('ends when the key is deleted', async () => {
    const { id, key } = await makeKey(['RUN_LIST']);
    const stream = await openChanges(key);
    await service.tool('API_KEY_DELETE', { id }).expect(200);
    await expect(stream.until(() => false)).rejects.toThrow();
  });

  describe('of many connections', () => {
    let database: DataSource;
    const store = (count: number) =>
      database.query(
        `INSERT INTO connections (id, organization_id, title, connection_type, connection_url, status)
         SELECT gen_random_uuid(), o.id, 'many', 'HTTP', 'http://127.0.0.1:9/mcp', 'active'
           FROM organizations o, generate_series(1, $1::integer) WHERE o.slug = 'default'`,
        [count],
      );
    /** Changes this many of them. */
    const touch = (count: number) =>
      database.query(
        `UPDATE connections SET updated_at = clock_timestamp()
          WHERE id IN (SELECT id FROM connections WHERE title = 'many' ORDER BY id LIMIT $1)`,
        [count],
      );

    beforeAll(async () => {
      database = service.app.get(DataSource);
      await store(600);
    });
    afterAll(() => database.query(`DELETE FROM connections WHERE title = 'many'`));

    it('tells very many changes at once as one resync, and cuts no reader off for them', async () => {
      const stream = await openChanges();
      await touch(600);
      await stream.until(({ type }) => type === 'resync');
      expect(stream.seen.filter(({ type }) => type === 'connection')).toEqual([]);
      await touch(400);
      for (let n = 0; n < 400; n++) await stream.until(({ type }) => type === 'connection');
      stream.leave();
    });

    it('reads connections again only when one of them has changed', async () => {
      const stream = await openChanges();
      const observe = jest.spyOn(service.app.get(ObservedRepository, { strict: false }), 'observe');
      try {
        await eventually(() => observe.mock.calls.length > 2);
        const answers = await Promise.all(observe.mock.results.map(({ value }) => value as Promise<Observed[]>));
        expect(answers.flat().filter(({ type }) => type === 'connection')).toEqual([]);
        await touch(1);
        await stream.until(({ type }) => type === 'connection');
      } finally {
        observe.mockRestore();
        stream.leave();
      }
    });

    it('shows a neighbor every change while there are too many to observe', async () => {
      const second = await startSecondOrganization(service, 'quiet');
      const own = await openChanges();
      const neighbor = await openChanges(second.key, service.url, 'quiet');
      await store(9_400);
      try {
        await own.until(({ type }) => type === 'resync');
        for (const title of ['One', 'Two', 'Three']) {
          const { body } = await second.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title } });
          await neighbor.until(({ id }) => id === body.item.id);
        }
        // The first event of a stream is a resync.
        expect(neighbor.seen.filter(({ type }) => type === 'resync')).toHaveLength(1);
      } finally {
        await database.query(
          `DELETE FROM connections WHERE id IN (SELECT id FROM connections WHERE title = 'many' OFFSET 600)`,
        );
        own.leave();
        neighbor.leave();
      }
    });

    it('cuts off a reader who reads nothing, holds little for it, and serves the others', async () => {
      const reading = await openChanges();
      const stalled = await StalledReader.open(service, 'events', service.apiKey);
      await stalled.fillSystemBuffers();
      const before = stalled.bufferedBytes();
      let mostBytes = 0;
      while (!stalled.isCutOff) {
        await touch(450);
        mostBytes = Math.max(mostBytes, stalled.bufferedBytes() - before);
        await sleep(100);
      }
      expect(mostBytes).toBeGreaterThan(0);
      expect(mostBytes).toBeLessThan(512 * 1024);
      stalled.close();
      const { id } = await reading.until(({ type }) => type === 'connection');
      await touch(1);
      await reading.until((change) => change.type === 'connection' && change.id === id);
      reading.leave();
    });
  });
});
