import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { ServiceProcess } from '../support/service-process.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../support/scripted-upstream.js';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.js';
import { eventually } from '../support/eventually.js';

const DISK_MIB = 192;
const START_MS = 120_000;
const RECOVERY_MS = 30_000;
/** No request waits longer for a store: 12 s for a statement and 3 s for a connection, and a busy machine. */
const BOUNDED_MS = 30_000;

const disk = mountSmallDisk(DISK_MIB);
if (disk === undefined) {
  process.stderr.write(
    'A file system cannot be mounted here (that needs root): the tests of a full disk are left out.\n',
  );
}

/** The service with its own PostgreSQL on a small disk. */
(disk === undefined ? describe.skip : describe)('a full disk', () => {
  const { folder, fill, clear } = disk as SmallDisk;
  let service: ServiceProcess;
  let upstream: ScriptedServer;
  let url: string;
  let apiKey: string;
  let agentId: string;
  let connectionId: string;
  let calls = 0;

  beforeAll(async () => {
    const { script } = legacyServer(({ message }, response) => {
      if (message.method === 'tools/call') calls++;
      const tools = [{ name: 'echo', inputSchema: { type: 'object' } }];
      sendResult(response, message, message.method === 'tools/list' ? { tools } : { content: [] });
    });
    upstream = await startScripted(script);
    service = new ServiceProcess({ DATA_DIR: folder, UPSTREAM_ALLOW_PRIVATE: 'true' });
    const announced = await service.listening();
    url = announced.url;
    apiKey = announced.apiKey ?? '';
    const connection = { title: 'Upstream', connection_type: 'HTTP', connection_url: upstream.url };
    connectionId = await created('COLLECTION_CONNECTIONS_CREATE', connection);
    agentId = await created('COLLECTION_VIRTUAL_MCP_CREATE', { title: 'Agent' });
    await created('COLLECTION_THREADS_CREATE', { id: 'thread', title: 'Thread', virtual_mcp_id: agentId });
  }, START_MS);

  afterAll(async () => {
    await service?.kill('SIGTERM');
    await upstream?.close();
    disk?.close();
  }, START_MS);

  const post = (path: string, body: object): supertest.Test =>
    supertest(url).post(`/api/default/${path}`).set('authorization', `Bearer ${apiKey}`).send(body).timeout(BOUNDED_MS);
  const tool = (name: string, input: object = {}): supertest.Test => post(`tools/${name}`, input);
  const message = (text: string): supertest.Test =>
    post('agent-runtime/threads/thread/messages', {
      messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
      agent: { id: agentId },
    });
  const proxiedCall = (): supertest.Test =>
    post(`mcp/${connectionId}`, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', arguments: {} },
    });

  async function created(name: string, data: object): Promise<string> {
    return (await tool(name, { data }).expect(200)).body.item.id;
  }

  /** Repeats a request until its answer has this status. */
  function until(status: number, request: () => supertest.Test): Promise<supertest.Response> {
    return eventually(async () => {
      const answer = await request();
      if (![status, 200, 503].includes(answer.status)) throw new Error(`${answer.status}: ${answer.text}`);
      expect({ status: answer.status, text: answer.text }).toMatchObject({ status });
      return answer;
    }, RECOVERY_MS);
  }

  it(
    'refuses what it cannot store with 503, still reads, and recovers without a restart',
    async () => {
      await message('before').expect(202);
      await proxiedCall().expect(200);
      fill();

      // A small message can still fit into pages that are there already.
      const large = 'x'.repeat(500_000);
      for (let i = 0; i < 10; i++) {
        const refused = await message(large);
        expect({ status: refused.status, code: refused.body.code }).toEqual({
          status: 503,
          code: 'storage_unavailable',
        });
        expect(refused.headers['retry-after']).toBe('1');
        expect(refused.text).not.toMatch(/No space|pg_wal|base\//);
        fill();
      }
      await supertest(url).get('/health/live').expect(200);
      const { body: readiness } = await until(503, () => supertest(url).get('/health/ready'));
      expect(readiness.checks.database).toBe('unavailable');
      // Not recorded, so it only reads.
      const { body } = await until(200, () =>
        post(`mcp/${connectionId}`, { jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      );
      expect(body.result.tools).toHaveLength(1);

      clear();
      await until(200, () => supertest(url).get('/health/ready'));
      await until(202, () => message('after'));
      await until(200, proxiedCall);
      const list = (): supertest.Test => tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: 'thread' });
      const texts = await eventually(async () => {
        const { items } = (await until(200, list)).body as { items: { parts: { text?: string }[] }[] };
        const shown = items.map(({ parts }) => parts.map(({ text = '' }) => text).join(''));
        expect(shown).toContainEqual(expect.stringContaining('after'));
        expect(shown.length).toBeGreaterThanOrEqual(4);
        return shown;
      }, RECOVERY_MS);
      // Nothing that was refused is stored.
      expect(texts.filter((text) => text.length > 1_000)).toEqual([]);
      expect(calls).toBeGreaterThanOrEqual(2);
      expect(service.hasEnded).toBe(false);
    },
    START_MS,
  );
});
