/**
 * `npm run bench:tool-search`: compares the two modes of an agent's tools. A scripted model looks up an order and
 * refunds it, over 10, 100 and 400 tools; in search mode it searches for each tool first. Reports the steps, the tokens
 * of all requests to the model (its request bodies, one token for each 4 bytes), and the time. Then it measures a first
 * and a later search over 400 and 10,000 tools, and how long each blocks the service for another request.
 * Everything runs on loopback, in a temporary folder.
 */
import { join } from 'node:path';
import { startScriptedModel } from '../dist/boot/testing/scripted-model.js';
import { generateApiKey } from '../dist/core/api-key-value.js';
import { Child } from './lib/child.mjs';
import { openWorkplace } from './lib/folder.mjs';
import { EventReader, postJson } from './lib/http-client.mjs';
import { layOut, machine, quantile } from './lib/report.mjs';
import { startService } from './lib/service.mjs';

const COUNTS = [10, 100, 400];
const RUNS = 5;
const BYTES_PER_TOKEN = 4;
const TASK = 'Refund the order 4711.';
const LOOK_UP = { name: 'orders_look_up', arguments: { text: '4711' } };
const REFUND = { name: 'orders_refund', arguments: { text: '4711' } };

const workplace = await openWorkplace();
const { folder, keep } = workplace;
try {
  const model = await startScriptedModel({ answer: answerTo });
  await keep({ stop: () => model.close() });
  const service = await keep(startService({ dataDir: join(folder, 'data'), apiKey: generateApiKey() }));
  const api = `${service.url}/api/default`;
  const tool = (name, input) => postJson(`${api}/tools/${name}`, service.headers, input);
  await useModel(tool, model.baseUrl);
  console.log(`${machine()}\n`);
  console.log(`${await modesTable({ service, tool, model })}\n`);
  console.log(await searchTable({ api, service, tool }));
} finally {
  await workplace.stop();
  await workplace.remove();
}

async function useModel(tool, baseUrl) {
  const data = { title: 'Scripted', kind: 'openai-compatible', base_url: baseUrl };
  const { item } = await tool('AI_PROVIDER_CREATE', { data });
  const target = { provider_id: item.id, model: 'scripted' };
  await tool('MODEL_TIERS_SET', { data: { smart: target } });
}

/** The next step of the task, by what the model can call and what it has called. */
function answerTo({ messages, tools = [] }) {
  const names = new Set(tools.map((one) => one.function.name));
  const called = messages.flatMap((message) => (message.tool_calls ?? []).map((call) => call.function.name));
  const next = [LOOK_UP, REFUND].find(({ name }) => !called.includes(name));
  if (next === undefined) return { kind: 'text', deltas: ['The order is refunded.'] };
  if (names.has(next.name)) return { kind: 'tool-calls', calls: [next] };
  const query = next === LOOK_UP ? 'look up an order' : 'refund an order';
  return { kind: 'tool-calls', calls: [{ name: 'search_tools', arguments: { query, limit: 5 } }] };
}

async function modesTable({ service, tool, model }) {
  const rows = [['tools', 'mode', 'steps', 'tokens', 'of definitions', 'run p50, ms']];
  for (const count of COUNTS) {
    for (const mode of ['all', 'search']) {
      const id = await agentOver(tool, count, mode);
      const { steps, bytes, definitions, times } = await runTask({ service, tool, model, id });
      const tokens = (amount) => Math.round(amount / BYTES_PER_TOKEN).toLocaleString('en');
      const cells = [String(count), mode, String(steps), tokens(bytes), tokens(definitions)];
      rows.push([...cells, quantile(times, 0.5).toFixed(0)]);
    }
  }
  return layOut(rows);
}

/** An agent over a server with so many tools, two of which belong to the task. */
async function agentOver(tool, count, mode) {
  const path = new URL('./lib/search-upstream.mjs', import.meta.url).pathname;
  const upstream = await keep(new Child(process.execPath, [path, String(count)]));
  const origin = await upstream.line(/listening on (\S+)/);
  const connection = { connection_type: 'HTTP', title: `Over ${count}`, connection_url: `${origin}/mcp` };
  const { item } = await tool('COLLECTION_CONNECTIONS_CREATE', { data: connection });
  await tool('CONNECTION_TEST', { id: item.id });
  const data = { title: `${mode} ${count}`, tool_mode: mode, connections: [{ connection_id: item.id }] };
  return (await tool('COLLECTION_VIRTUAL_MCP_CREATE', { data })).item.id;
}

/** Does the task on new threads. What the model is sent is the same each time. */
async function runTask({ service, tool, model, id }) {
  const times = [];
  for (let i = 0; i < RUNS; i++) {
    model.requests.length = 0;
    const { item: thread } = await tool('COLLECTION_THREADS_CREATE', { data: { title: 'Bench', virtual_mcp_id: id } });
    const body = { messages: [{ role: 'user', parts: [{ type: 'text', text: TASK }] }], agent: { id } };
    const url = `${service.url}/api/default/agent-runtime/threads/${thread.id}/messages`;
    const startedAt = performance.now();
    const reader = await EventReader.open(url, service.headers, body);
    for (let data = ''; data !== '[DONE]';) ({ data } = await reader.next());
    times.push(performance.now() - startedAt);
    reader.close();
  }
  const bodies = model.requests.map(({ body }) => body);
  return {
    times,
    steps: bodies.length,
    bytes: sum(bodies.map((body) => JSON.stringify(body).length)),
    definitions: sum(bodies.map(({ tools = [] }) => JSON.stringify(tools).length)),
  };
}

async function searchTable({ api, service, tool }) {
  const rows = [['search over', 'first, ms', 'later p50, ms', 'longest wait of a ping, ms']];
  for (const count of [400, 10_000]) {
    const id = await agentOver(tool, count, 'search');
    const rpc = (method, params) =>
      postJson(`${api}/mcp/gateway/${id}`, service.headers, { jsonrpc: '2.0', id: 1, method, params });
    await rpc('tools/list', {});
    const search = () =>
      timed(() => rpc('tools/call', { name: 'search_tools', arguments: { query: 'refund an order of a customer' } }));
    const pings = pingUntil(rpc);
    const first = await search();
    const later = [];
    for (let i = 0; i < 20; i++) later.push(await search());
    rows.push([String(count), first.toFixed(0), quantile(later, 0.5).toFixed(1), (await pings.end()).toFixed(0)]);
  }
  return layOut(rows);
}

/** Sends pings one after another until `end`, which returns how long the slowest took. */
function pingUntil(rpc) {
  const end = new AbortController();
  let slowest = 0;
  const work = (async () => {
    while (!end.signal.aborted) slowest = Math.max(slowest, await timed(() => rpc('ping', {})));
  })();
  // `end` reports the error; by then, another one may have ended the service.
  work.catch(() => undefined);
  return {
    async end() {
      end.abort();
      await work;
      return slowest;
    },
  };
}

async function timed(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
