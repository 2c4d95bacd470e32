import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { each } from './soak-client.mjs';

const WIDTH = 24;
const RUN_LANES = 12;
const CLIENT = {
  protocolVersion: '2025-11-25',
  capabilities: { sampling: {}, elicitation: {} },
  clientInfo: { name: 'soak', version: '1' },
};

const rpc = (id, method, params) => ({ jsonrpc: '2.0', ...(id !== undefined && { id }), method, params });
const call = (name, args = {}) => rpc(2, 'tools/call', { name, arguments: args });

/** Clients that initialize, call a tool, and never come back; half of them directly, half through an agent. */
export async function initializeAndLeave({ client, connection, agent }, count) {
  await each(count, WIDTH, async (i) => {
    const path = i % 2 === 0 ? `/mcp/${connection}` : `/mcp/gateway/${agent}`;
    const opened = await client.post(path, rpc(1, 'initialize', CLIENT));
    const session = { 'mcp-session-id': opened.headers['mcp-session-id'] };
    if (opened.status !== 200 || session['mcp-session-id'] === undefined) throw new Error(`initialize: ${opened.text}`);
    await client.post(path, rpc(undefined, 'notifications/initialized'), session);
    const answer = await client.post(path, call('echo'), session);
    if (answer.status !== 200) throw new Error(`tools/call answered ${answer.status}: ${answer.text}`);
  });
}

/** Clients that hang up while they read a stream, while they send a message, and while a tool works. */
export async function hangUp({ client, connection, thread, upstream }, count) {
  const response = (one) => once(one, 'response');
  const message = '{"messages":[{"role":"user","parts":[{"type":"text","text":"Hel';
  const slow = JSON.stringify(call('slow', { ms: 30_000 }));
  await each(count, WIDTH, async (i) => {
    if (i % 3 === 0) return client.hangUp(`/agent-runtime/threads/${thread}/stream`, { until: response });
    if (i % 3 === 1) {
      const until = (one) => once(one.socket ?? one, one.socket ? 'drain' : 'socket').then(() => sleep(2));
      const upload = {
        method: 'POST',
        body: message,
        declared: 100_000,
        until: (one) => Promise.race([until(one), sleep(20)]),
      };
      return client.hangUp(`/agent-runtime/threads/${thread}/messages`, upload);
    }
    const before = upstream.waiting();
    const until = async () => {
      // Another client can have hung up in between.
      for (let tries = 0; tries < 50 && upstream.waiting() <= before; tries++) await sleep(2);
    };
    return client.hangUp(`/mcp/${connection}`, { method: 'POST', body: slow, until });
  });
}

/** Connections that are edited while a tool works, and deleted afterwards. Some of them run programs. */
export async function editWhileUsed({ client, upstream, program }, count) {
  await each(count, WIDTH, async (i) => {
    const data =
      i % 10 === 0
        ? { title: `Program ${i}`, connection_type: 'STDIO', stdio: program }
        : { title: `Edited ${i}`, connection_type: 'HTTP', connection_url: upstream.url };
    const { item } = await client.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    const used = client.post(`/mcp/${item.id}`, call(i % 10 === 0 ? 'echo' : 'slow', { ms: 20 }));
    await client.tool('COLLECTION_CONNECTIONS_UPDATE', {
      id: item.id,
      data: { title: `Edited again ${i}`, timeout: 20_000 },
    });
    await used;
    await client.post(`/mcp/${item.id}`, call('echo'));
    await client.tool('COLLECTION_CONNECTIONS_DELETE', { id: item.id });
  });
}

/** Runs as fast as the service takes them, each read to its end. @returns how many */
export async function runAtFullSpeed({ client, agent }, seconds) {
  const over = performance.now() + seconds * 1000;
  let runs = 0;
  await each(RUN_LANES, RUN_LANES, async () => {
    const data = { title: 'Soak', virtual_mcp_id: agent };
    const { item } = await client.tool('COLLECTION_THREADS_CREATE', { data });
    const thread = `/agent-runtime/threads/${item.id}`;
    const body = { messages: [{ role: 'user', parts: [{ type: 'text', text: '/words 20' }] }], agent: { id: agent } };
    while (performance.now() < over) {
      const { status, text } = await client.post(`${thread}/messages`, body, { accept: 'application/json' });
      if (status !== 202) throw new Error(`A message was answered with ${status}: ${text}`);
      await readToEnd(client, `${thread}/stream?taskId=${JSON.parse(text).taskId}`);
      runs++;
    }
    await client.tool('COLLECTION_THREADS_DELETE', { id: item.id });
  });
  return runs;
}

async function readToEnd(client, path) {
  const response = await fetch(`${client.api}${path}`, { headers: client.headers });
  const text = await response.text();
  if (!text.includes('[DONE]')) throw new Error(`A stream ended without [DONE]: ${response.status}`);
}
