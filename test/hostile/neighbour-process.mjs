/**
 * The neighbour as a process of its own, so that neither the attack nor the test runner slows its clock. It has an MCP
 * server on the official SDK, which answers with event streams, and makes one tool call and one run every 100 ms,
 * however long the earlier ones take. Messages from the parent: `connect`, then `start` and `stop` in turn; each is
 * answered with one message.
 */
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Pool } from 'undici';

const PERIOD_MS = 100;
const GIVE_UP_MS = 60_000;

/** Set by `connect`. */
let caller;
/** Set while the neighbour is at work. */
let work;

process.on('message', (message) => {
  void HANDLERS[message.type](message).then(
    (value) => process.send({ value }),
    (error) => process.send({ error: String(error.stack ?? error) }),
  );
});

const HANDLERS = {
  async connect({ url, org, key }) {
    caller = { http: new Pool(url, { connections: 256 }), org, key };
    const { item: connection } = await tool('COLLECTION_CONNECTIONS_CREATE', {
      data: { title: 'Neighbour', connection_type: 'HTTP', connection_url: await startUpstream() },
    });
    const { item: agent } = await tool('COLLECTION_VIRTUAL_MCP_CREATE', {
      data: { title: 'Neighbour', connections: [] },
    });
    Object.assign(caller, { connectionId: connection.id, agentId: agent.id });
    // What only a first call costs is not what neighbours do to one.
    for (let i = 0; i < 20; i += 1) await Promise.all([call(), run()]);
  },

  async start() {
    const measures = { calls: newMeasure(), runs: newMeasure() };
    const pending = new Set();
    const begin = () => {
      for (const one of [timed(measures.calls, call), timed(measures.runs, run)]) {
        pending.add(one);
        void one.finally(() => pending.delete(one));
      }
    };
    begin();
    work = { measures, pending, timer: setInterval(begin, PERIOD_MS) };
  },

  async stop() {
    const { measures, pending, timer } = work;
    clearInterval(timer);
    await Promise.all(pending);
    return { calls: summaryOf(measures.calls), runs: summaryOf(measures.runs) };
  },
};

const newMeasure = () => ({ times: [], refused: 0, failures: [] });

function summaryOf({ times, ...rest }) {
  const sorted = times.toSorted((a, b) => a - b);
  return { ...rest, count: times.length, medianMs: sorted[Math.floor(times.length / 2)], longestMs: sorted.at(-1) };
}

async function timed(measure, action) {
  const begun = performance.now();
  try {
    await action();
  } catch (error) {
    if (error.isRefusal) measure.refused += 1;
    else measure.failures.push(String(error.message ?? error));
  }
  measure.times.push(performance.now() - begun);
}

async function call() {
  const { connectionId, org } = caller;
  const text = randomUUID();
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text } } };
  const answer = await post(`/api/${org}/mcp/${connectionId}`, message, 'application/json, text/event-stream');
  if (!answer.includes(text)) throw new Error(`The call answered ${answer.slice(0, 300)}`);
}

async function run() {
  const { agentId, org } = caller;
  const { item: thread } = await tool('COLLECTION_THREADS_CREATE', { data: { title: 'Run', virtual_mcp_id: agentId } });
  const path = `/api/${org}/agent-runtime/threads/${thread.id}`;
  const { taskId } = JSON.parse(
    await post(`${path}/messages`, {
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
      agent: { id: agentId },
    }),
  );
  const stream = await request('GET', `${path}/stream?taskId=${taskId}`, { accept: 'text/event-stream' });
  if (!stream.includes('"type":"finish"') || !stream.includes('[DONE]')) {
    throw new Error(`The stream ended with ${stream.slice(-300)}`);
  }
}

const tool = async (name, body) => JSON.parse(await post(`/api/${caller.org}/tools/${name}`, body));

const post = (path, body, accept = 'application/json') =>
  request('POST', path, { 'content-type': 'application/json', accept }, JSON.stringify(body));

async function request(method, path, headers, body = null) {
  const { statusCode, body: answer } = await caller.http.request({
    method,
    path,
    headers: { authorization: `Bearer ${caller.key}`, ...headers },
    body,
    signal: AbortSignal.timeout(GIVE_UP_MS),
  });
  const text = await answer.text();
  if (statusCode >= 400) {
    const error = new Error(`${method} ${path} answered ${statusCode}: ${text.slice(0, 300)}`);
    throw Object.assign(error, { isRefusal: statusCode === 503 && text.includes('storage_unavailable') });
  }
  return text;
}

async function startUpstream() {
  const server = createServer((request, response) => {
    const mcp = echoServer();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    response.on('close', () => void mcp.close());
    void mcp.connect(transport).then(() => transport.handleRequest(request, response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}/mcp`;
}

function echoServer() {
  const mcp = new Server({ name: 'neighbour', version: '1' }, { capabilities: { tools: {} } });
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };
  mcp.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: 'echo', inputSchema }] }));
  mcp.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: 'text', text: String(params.arguments?.text) }],
  }));
  return mcp;
}
