import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, it } from '@jest/globals';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../support/scripted-upstream.js';
import { type HostileTarget, startHostileTarget } from './harness.js';

const TOOLS = 10_000;
const INNER = 99;
const ATTACK_MS = 8_000;

let target: HostileTarget;
let upstream: ScriptedServer | undefined;
beforeEach(async () => {
  target = await startHostileTarget();
}, 120_000);
afterEach(async () => {
  await target?.close();
  await upstream?.close();
});

async function made(name: string, data: object): Promise<string> {
  const { body } = await target.tool(name, { data });
  return (body as { item: { id: string } }).item.id;
}

/** Agents inside one over one upstream, and a key that may call nothing. */
async function prepare(url: string): Promise<{ outer: string; key: string }> {
  const data = { title: 'Large', connection_type: 'HTTP', connection_url: url };
  const connection_id = await made('COLLECTION_CONNECTIONS_CREATE', data);
  const connections = [];
  for (let n = 0; n < INNER; n++) {
    const inner = { title: `Inner ${n}`, connections: [{ connection_id }] };
    connections.push({ connection_id: await made('COLLECTION_VIRTUAL_MCP_CREATE', inner) });
  }
  const outer = await made('COLLECTION_VIRTUAL_MCP_CREATE', { title: 'Outer', connections });
  const { body } = await target.tool('API_KEY_CREATE', { name: 'empty', permissions: {} });
  return { outer, key: (body as { key: string }).key };
}

/** Lists the agent's tools by eight callers, again and again for a while. */
async function listAll(path: string, key: string): Promise<void> {
  const end = performance.now() + ATTACK_MS;
  const ask = async (): Promise<void> => {
    while (performance.now() < end) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      const answer = await fetch(`${target.url}${path}`, { method: 'POST', headers, body });
      await answer.arrayBuffer();
      await sleep(5);
    }
  };
  await Promise.all(Array.from({ length: 8 }, ask));
}

const toolsNamed = (prefix: string): object[] =>
  Array.from({ length: TOOLS }, (_, n) => ({ name: `${prefix}_${n}`, inputSchema: { type: 'object' } }));

it('a key without any grant that lists many agents in one holds up nobody', async () => {
  const tools = toolsNamed('tool');
  const { script } = legacyServer(({ message }, response) => sendResult(response, message, { tools }));
  upstream = await startScripted(script);
  const { outer, key } = await prepare(upstream.url);
  const path = `/api/default/mcp/gateway/${outer}`;
  await target.withstands(() => listAll(path, key), { memoryMb: 128 });
}, 180_000);

it('an upstream that lists other tools whenever it is asked, and says so all the time, holds up nobody', async () => {
  let read = 0;
  const lists = ['one', 'other'].map(toolsNamed);
  const { script } = legacyServer(({ message }, response) =>
    sendResult(response, message, { tools: message.method === 'tools/list' ? lists[read++ % 2] : [] }),
  );
  upstream = await startScripted((request, response) => {
    if (request.method !== 'GET') return script(request, response);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => {
      response.write('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'.repeat(20));
    }, 20);
    response.on('close', () => clearInterval(timer));
    return undefined;
  });
  const { outer } = await prepare(upstream.url);
  const path = `/api/default/mcp/gateway/${outer}`;
  await target.withstands(() => listAll(path, target.apiKey), { memoryMb: 160 });
}, 180_000);
