// A server of the modern era (2026-07-28) without the SDK that reports changes of resources and sends log messages:
// over stdio, or with `--http` over streamable HTTP, where it prints its port. It appends to the file that its first
// argument names `listen` and `close` with the resources of each subscription, and `level` with the log level of each
// call that has one. Its resources begin with `note://`; it accepts no subscription to others. It has these tools:
// - `touch` changes the resource `uri`, of which its subscribers hear
// - `log` sends a log message of `level` to every client that has asked for any, and is public
// - `meet` waits for another call of `meet`; then both send a log message of their own `name`
// - `exit` ends the process
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const [ledger, ...options] = process.argv.slice(2);
const note = (...words) => appendFileSync(ledger, `${words.join(' ')}\n`);
const LEVEL = 'io.modelcontextprotocol/logLevel';
const ABOUT = 'io.modelcontextprotocol/subscriptionId';
const CACHE = { ttlMs: 0, cacheScope: 'private' };
const SERVER = { 'io.modelcontextprotocol/serverInfo': { name: 'reporting', version: '1' } };
const PUBLIC = { _meta: { 'mcp.service': { public_tool: true } } };
const subscriptions = new Set();
let meeting;

const TOOLS = {
  touch({ uri }) {
    for (const { id, uris, send } of subscriptions) {
      if (!uris.includes(uri)) continue;
      send({ method: 'notifications/resources/updated', params: { uri, _meta: { [ABOUT]: id } } });
    }
  },
  log({ level }, log) {
    log(level, `log of ${level}`);
  },
  async meet({ name }, log) {
    if (meeting === undefined) await (meeting = Promise.withResolvers()).promise;
    else meeting.resolve();
    log('error', `met ${name}`);
  },
  exit: () => process.exit(3),
};

const HANDLERS = {
  'server/discover': () => ({
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {}, resources: { subscribe: true }, logging: {} },
    ...CACHE,
  }),
  'tools/list': () => ({
    tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: 'object' }, ...(name === 'log' && PUBLIC) })),
    ...CACHE,
  }),
  'resources/list': () => ({ resources: [{ uri: 'note://one', name: 'one' }], ...CACHE }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: '{any}://{name}', name: 'any' }], ...CACHE }),
};

/** @param send sends one message of the answer. Returns what ends a subscription. */
async function serve({ id, method, params = {} }, send) {
  if (method === 'subscriptions/listen') return subscribe(id, params.notifications, send);
  const level = params._meta?.[LEVEL];
  if (method === 'tools/call') {
    if (level !== undefined) note('level', level);
    const log = (severity, data) => {
      if (level !== undefined) send({ method: 'notifications/message', params: { level: severity, data } });
    };
    await TOOLS[params.name](params.arguments ?? {}, log);
    const content = [{ type: 'text', text: 'done' }];
    return void send({ id, result: { resultType: 'complete', content, _meta: SERVER } });
  }
  const result = HANDLERS[method]?.();
  if (result === undefined) return void send({ id, error: { code: -32601, message: 'Method not found' } });
  return void send({ id, result: { resultType: 'complete', ...result, _meta: SERVER } });
}

function subscribe(id, { resourceSubscriptions = [] }, send) {
  const uris = resourceSubscriptions.filter((uri) => uri.startsWith('note://'));
  const subscription = { id, uris, send };
  subscriptions.add(subscription);
  note('listen', ...uris);
  const notifications = uris.length > 0 ? { resourceSubscriptions: uris } : {};
  send({ method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta: { [ABOUT]: id } } });
  return () => {
    if (subscriptions.delete(subscription)) note('close', ...uris);
  };
}

async function answer(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  if (request.method !== 'POST') return void response.writeHead(405).end();
  const message = JSON.parse(Buffer.concat(chunks).toString());
  if (message.method === 'initialize') {
    const error = { code: -32022, message: 'Unsupported', data: { supported: ['2026-07-28'], requested: 'older' } };
    const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, error });
    return void response.writeHead(400, { 'content-type': 'application/json' }).end(text);
  }
  if (message.id === undefined) return void response.writeHead(202).end();
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  const send = (sent) => response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...sent })}\n\n`);
  const end = await serve(message, send);
  if (end === undefined) response.end();
  else response.once('close', end);
}

if (options.includes('--http')) {
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`));
} else {
  const ends = new Map();
  const send = (sent) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...sent })}\n`);
  createInterface({ input: process.stdin }).on('line', async (line) => {
    const message = JSON.parse(line);
    if (message.method === 'notifications/cancelled') ends.get(message.params.requestId)?.();
    else if (message.id !== undefined && message.method !== undefined) ends.set(message.id, await serve(message, send));
  });
}
