import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type HostileTarget, startHostileTarget } from './harness.js';
import { eventually } from '../support/eventually.js';

const SERVER = fileURLToPath(new URL('../support/stdio-fixtures/hostile-server.mjs', import.meta.url));
const RUNS = 60;

interface Run {
  status: string;
  error: { code: string } | null;
}

/** Everything that a key has started ends with it, however much that is, and nobody else notices. */
describe('a key that is deleted while it is at work', () => {
  let target: HostileTarget;

  beforeAll(async () => {
    target = await startHostileTarget({ env: { STDIO_COMMANDS: 'node' } });
  }, 180_000);

  afterAll(() => target?.close());

  async function made(tool: string, data: object): Promise<string> {
    const { body } = await target.tool(tool, { data });
    return (body as { item: { id: string } }).item.id;
  }

  function request(path: string, key: string, body: object): Promise<Response> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    return fetch(new URL(path, target.url), { method: 'POST', headers, body: JSON.stringify(body) });
  }

  async function openRuns(ids: readonly string[]): Promise<Run[]> {
    const answers = await Promise.all(ids.map((id) => target.tool('RUN_GET', { id })));
    return answers.map(({ body }) => (body as { item: Run }).item);
  }

  it('leaves no run, no call and no session', async () => {
    const stdio = { command: 'node', args: [SERVER] };
    const connection = await made('COLLECTION_CONNECTIONS_CREATE', { title: 'x', connection_type: 'STDIO', stdio });
    const agent = await made('COLLECTION_VIRTUAL_MCP_CREATE', { title: 'x', connections: [] });
    const { body } = await target.tool('API_KEY_CREATE', { name: 'x', permissions: { '*': ['*'], self: ['*'] } });
    const { id, key } = body as { id: string; key: string };
    let last = '';
    const messages = [{ role: 'user', parts: [{ type: 'text', text: '/wait 600000' }] }];
    await target.withstands(async () => {
      const runs: string[] = [];
      for (let n = 0; n < RUNS; n++) {
        // Three on each thread: one that may run, and two that wait.
        const thread =
          n % 3 === 0 ? await made('COLLECTION_THREADS_CREATE', { title: 'x', virtual_mcp_id: agent }) : last;
        last = thread;
        const path = `/api/default/agent-runtime/threads/${thread}/messages`;
        const posted = await request(path, key, { messages, agent: { id: agent } });
        runs.push(((await posted.json()) as { taskId: string }).taskId);
      }
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'never', arguments: {} } };
      const calls = Array.from({ length: 20 }, () =>
        request(`/api/default/mcp/${connection}`, key, call).then(
          () => 'answered',
          () => 'cut off',
        ),
      );
      await sleep(1_000);
      await target.tool('API_KEY_DELETE', { id });
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['cut off']));
      await eventually(async () => {
        const states = await openRuns(runs);
        expect(new Set(states.map(({ error }) => error?.code))).toEqual(new Set(['credential_revoked']));
      });
    });
  });
});
