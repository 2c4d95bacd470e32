/**
 * The MCP servers behind the fuzzed service, on the official SDKs, and a model provider, in one process. Prints one
 * line of JSON with their addresses. `/legacy` has sessions (2025-11-25), `/stateless` has none, `/modern` speaks
 * 2026-07-28 only, `/either` both eras, `/guarded` wants a bearer token; `/v1` is the provider.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server as LegacyServer } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as legacy from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';

const GUARD_TOKEN = process.argv[2];
const MAX_SESSIONS = 500;
const MAX_SLEEP_MS = 300;

const object = (properties = {}, required = []) => ({ type: 'object', properties, required });
const TOOLS = [
  {
    name: 'echo',
    inputSchema: object({ message: { type: 'string' } }, ['message']),
    annotations: { readOnlyHint: true },
  },
  { name: 'public_echo', inputSchema: object(), _meta: { 'mcp.service': { public_tool: true } } },
  { name: 'anything', inputSchema: { type: 'object' } },
  {
    name: 'strict',
    inputSchema: { ...object({ n: { type: 'integer', minimum: 0 } }, ['n']), additionalProperties: false },
  },
  { name: 'sleep', inputSchema: object({ ms: { type: 'number' } }) },
  { name: 'progress', inputSchema: object() },
  { name: 'fails', inputSchema: object() },
  { name: 'throws', inputSchema: object() },
  { name: 'large', inputSchema: object({ kilobytes: { type: 'number' } }) },
  { name: '__proto__', inputSchema: object() },
];
const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const atMost = (value, most) => Math.min(Math.max(Number(value) || 0, 0), most);

async function call({ name, arguments: args = {}, _meta }, notify, signal) {
  if (name === 'fails') return { ...text('It failed.'), isError: true };
  if (name === 'throws') throw new Error('It threw.');
  if (name === 'sleep') await sleep(atMost(args.ms, MAX_SLEEP_MS), undefined, { signal }).catch(() => undefined);
  if (name === 'large') return text('x'.repeat(atMost(args.kilobytes, 256) * 1024));
  const progressToken = _meta?.progressToken;
  if (name === 'progress' && progressToken !== undefined) {
    for (const progress of [1, 2, 3])
      await notify({ method: 'notifications/progress', params: { progressToken, progress } });
  }
  return text(`${name}: ${JSON.stringify(args)}`);
}

const RESOURCES = { resources: [{ uri: 'fuzz://one', name: 'one' }] };
const PROMPTS = { prompts: [{ name: 'greet', arguments: [{ name: 'whom' }] }] };
const read = ({ uri }) => ({ contents: [{ uri, text: 'The content' }] });
const prompt = ({ arguments: args }) => ({
  messages: [{ role: 'user', content: { type: 'text', text: `Hello ${args?.whom}` } }],
});
const complete = ({ argument }) => ({ completion: { values: [`${argument.value}da`] } });

function modernServer() {
  const server = new Server(
    { name: 'fuzz-modern', version: '1' },
    { capabilities: CAPABILITIES, instructions: 'Fuzz me.' },
  );
  server.setRequestHandler('tools/list', () => ({ tools: TOOLS }));
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
    call({ ...params, _meta: mcpReq._meta }, (message) => mcpReq.notify(message), mcpReq.signal),
  );
  server.setRequestHandler('resources/list', () => RESOURCES);
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', ({ params }) => read(params));
  server.setRequestHandler('prompts/list', () => PROMPTS);
  server.setRequestHandler('prompts/get', ({ params }) => prompt(params));
  server.setRequestHandler('completion/complete', ({ params }) => complete(params));
  return server;
}

function legacyServer() {
  const server = new LegacyServer({ name: 'fuzz-legacy', version: '1' }, { capabilities: CAPABILITIES });
  server.setRequestHandler(legacy.ListToolsRequestSchema, () => ({ tools: TOOLS }));
  server.setRequestHandler(legacy.CallToolRequestSchema, ({ params }, { sendNotification, signal }) =>
    call(params, sendNotification, signal),
  );
  server.setRequestHandler(legacy.ListResourcesRequestSchema, () => RESOURCES);
  server.setRequestHandler(legacy.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [] }));
  server.setRequestHandler(legacy.ReadResourceRequestSchema, ({ params }) => read(params));
  server.setRequestHandler(legacy.SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(legacy.UnsubscribeRequestSchema, () => ({}));
  server.setRequestHandler(legacy.ListPromptsRequestSchema, () => PROMPTS);
  server.setRequestHandler(legacy.GetPromptRequestSchema, ({ params }) => prompt(params));
  server.setRequestHandler(legacy.CompleteRequestSchema, ({ params }) => complete(params));
  return server;
}

const sessions = new Map();

async function withSessions(request, response) {
  const known = sessions.get(request.headers['mcp-session-id']);
  if (known !== undefined) return known.handleRequest(request, response);
  if (request.headers['mcp-session-id'] !== undefined) return void response.writeHead(404).end();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => {
      sessions.set(id, transport);
      for (const [oldest, forgotten] of sessions) {
        if (sessions.size <= MAX_SESSIONS) break;
        sessions.delete(oldest);
        void forgotten.close();
      }
    },
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await legacyServer().connect(transport);
  return transport.handleRequest(request, response);
}

async function withoutSessions(request, response) {
  const server = legacyServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on('close', () => void server.close());
  await server.connect(transport);
  return transport.handleRequest(request, response);
}

function modernWith(handler) {
  return async (request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method,
        headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        signal: gone.signal,
        ...(request.method === 'POST' && { body: Buffer.concat(chunks) }),
      }),
    );
    response.writeHead(answer.status, [...answer.headers].flat());
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  };
}

async function guarded(request, response) {
  if (request.headers.authorization === `Bearer ${GUARD_TOKEN}`) return withoutSessions(request, response);
  return void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(`Refused ${request.headers.authorization}`);
}

/** Chat completions: says something, and calls a tool where the last message asks for it. Its list of models is odd. */
async function provider(request, response) {
  let body = '';
  for await (const chunk of request) body += chunk;
  if (request.url.endsWith('/models')) {
    return void response.end('{"data":[{"id":"tiny"},{"id":"\\ud800"},{"id":"a\\u0000"},{"id":7},null]}');
  }
  if (!request.url.endsWith('/chat/completions')) return void response.writeHead(404).end('{}');
  const { messages = [], tools = [] } = JSON.parse(body);
  const last = messages.at(-1);
  const tool = last?.role === 'user' ? tools.at(String(last.content).length % Math.max(tools.length, 1)) : undefined;
  const delta =
    tool === undefined
      ? { content: 'Hello from the provider.' }
      : {
          tool_calls: [
            { index: 0, id: randomUUID(), type: 'function', function: { name: tool.function.name, arguments: '{}' } },
          ],
        };
  const chunk = (choice) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunk({ delta: { role: 'assistant', ...delta } }));
  response.end(`${chunk({ delta: {}, finish_reason: tool === undefined ? 'stop' : 'tool_calls' })}data: [DONE]\n\n`);
}

const ROUTES = {
  legacy: withSessions,
  stateless: withoutSessions,
  modern: modernWith(createMcpHandler(modernServer, { legacy: 'reject' })),
  either: modernWith(createMcpHandler(modernServer, { legacy: 'stateless' })),
  guarded,
  v1: provider,
};

const server = createServer((request, response) => {
  const route = ROUTES[request.url.split('/')[1]];
  if (route === undefined) return void response.writeHead(404).end();
  Promise.resolve(route(request, response)).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
console.log(JSON.stringify(Object.fromEntries(Object.keys(ROUTES).map((name) => [name, `${origin}/${name}`]))));
