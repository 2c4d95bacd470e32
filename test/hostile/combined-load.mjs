/**
 * An organization that makes every kind of load at once, as a process of its own: streams that nobody reads, large
 * answers, waiting runs, sessions, and sign-ins. Messages from the parent: `connect`, then `start` and `stop`; each is
 * answered with one message.
 */
import { once } from 'node:events';
import { Agent, createServer, request as openRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const STALLED = 300;
const READERS = 24;
const THREADS = 40;
const RUNS_EACH = 50;
const SESSION_LOOPS = 8;
const SIGN_IN_LOOPS = 4;
const CALL_LOOPS = 8;
const ANSWER_BYTES = 8 * 2 ** 20;
const TAKES_BOTH = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
const TAKES_JSON = { accept: 'application/json', 'content-type': 'application/json' };

/** Set by `connect`. */
let target;
/** Set between `start` and `stop`. */
let load;

process.on('message', (message) => {
  void HANDLERS[message.type](message).then(
    (value) => process.send({ value }),
    (error) => process.send({ error: String(error.stack ?? error) }),
  );
});

const HANDLERS = {
  async connect({ url, key, owner }) {
    target = { url, key, owner };
    const upstream = await startUpstream();
    const made = async (name, data) => (await tool(name, { data })).item.id;
    const connect = (path) =>
      made('COLLECTION_CONNECTIONS_CREATE', { title: path, connection_type: 'HTTP', connection_url: upstream + path });
    const [json, events] = [await connect('json'), await connect('events')];
    const connections = [{ connection_id: json }, { connection_id: events }];
    const agent = await made('COLLECTION_VIRTUAL_MCP_CREATE', { title: 'Agent', connections });
    const names = ['large', 'lines', 'small'];
    const permissions = { [json]: names, [events]: names, [agent]: ['*'] };
    const limited = (await tool('API_KEY_CREATE', { name: 'limited', permissions })).key;
    const threads = [];
    for (let n = 0; n < THREADS; n += 1) {
      threads.push(await made('COLLECTION_THREADS_CREATE', { title: 'T', virtual_mcp_id: agent }));
    }
    const listed = await rpc(`gateway/${agent}`, 'tools/list', {}, key);
    const tools = JSON.parse(listed)
      .result.tools.map(({ name }) => name)
      .filter((name) => name.includes('large'));
    Object.assign(target, { json, events, agent, limited, threads, tools });
  },

  async start() {
    load = { isOver: false, open: new Set(), counts: {}, callTimes: [], loops: [] };
    const loop = (act) => load.loops.push(repeat(act));
    for (let n = 0; n < STALLED; n += 1) loop(() => stall(n));
    for (let n = 0; n < READERS; n += 1) loop(() => readLarge(n));
    for (let n = 0; n < SESSION_LOOPS; n += 1) loop(() => openSession(n));
    for (let n = 0; n < SIGN_IN_LOOPS; n += 1) loop(signIn);
    for (let n = 0; n < CALL_LOOPS; n += 1) loop(callSmall);
    const posts = target.threads.map(async (thread) => {
      for (let n = 0; n < RUNS_EACH && !load.isOver; n += 1) await post(thread);
    });
    load.loops.push(...posts);
  },

  async stop() {
    load.isOver = true;
    for (const request of load.open) request.destroy();
    await Promise.all(load.loops);
    for (const thread of target.threads)
      await answerTo(`agent-runtime/threads/${thread}/cancel`, {}).catch(() => undefined);
    return { counts: load.counts, medianCallMs: load.callTimes.toSorted((a, b) => a - b)[load.callTimes.length >> 1] };
  },
};

async function repeat(act) {
  while (!load.isOver) {
    try {
      await act();
    } catch (error) {
      if (load.isOver) return;
      count(`error ${error.code ?? error.message}`);
      await sleep(100);
    }
  }
}

const count = (what, by = 1) => (load.counts[what] = (load.counts[what] ?? 0) + by);

/**
 * Every kind of answer that can be large: JSON or events, to callers with and without full access, through an agent, as
 * JSON only.
 */
const LARGE = [
  () => call(target.json, 'large', target.key),
  () => call(target.events, 'large', target.key),
  () => call(target.json, 'large', target.limited),
  () => call(target.events, 'large', target.limited),
  () => call(target.events, 'large', target.key, TAKES_JSON),
  () => call(`gateway/${target.agent}`, target.tools[0], target.limited),
  () => call(`gateway/${target.agent}`, target.tools[1], target.key),
  () => send('POST', `/api/default/mcp/${target.json}/call-tool/large`, {}, { ...TAKES_BOTH, ...bearer(target.key) }),
];

async function readLarge(n) {
  const kind = n % LARGE.length;
  const response = await LARGE[kind]();
  for await (const chunk of response) if (response.statusCode === 200) count('large bytes', chunk.length);
  count(`large ${kind} ${response.statusCode}`);
  if (response.statusCode !== 200) await sleep(250);
}

/** Asks for a stream, takes nothing of it, and comes back when the service has ended it. */
async function stall(n) {
  const response =
    n % 2 === 0
      ? await call(target.events, 'lines', target.limited)
      : await send('GET', `/api/default/agent-runtime/threads/${target.threads[n % THREADS]}/stream`, undefined, {
          accept: 'text/event-stream',
          ...bearer(target.key),
        });
  count(`stalled ${n % 2} ${response.statusCode}`);
  response.pause();
  if (response.statusCode !== 200) {
    response.resume();
    await sleep(1_000);
  } else if (!response.closed) await once(response, 'close');
}

async function openSession(n) {
  const path = n % 2 === 0 ? target.json : `gateway/${target.agent}`;
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'load', version: '1' } };
  const opened = await send(
    'POST',
    `/api/default/mcp/${path}`,
    { jsonrpc: '2.0', id: 0, method: 'initialize', params },
    { ...TAKES_BOTH, ...bearer(target.key) },
  );
  await textOf(opened);
  count(`session ${opened.statusCode}`);
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  await rpc(path, 'tools/list', {}, target.key, session);
  await textOf(await send('DELETE', `/api/default/mcp/${path}`, undefined, { ...bearer(target.key), ...session }));
}

/** A call like those of the neighbour, which shows how long the load itself waits. */
async function callSmall() {
  const begun = performance.now();
  const response = await call(target.json, 'small', target.key);
  await textOf(response);
  count(`call ${response.statusCode}`);
  load.callTimes.push(performance.now() - begun);
}

async function signIn() {
  const page = await send('GET', '/sign-in', undefined, {});
  const text = await textOf(page);
  const cookie = [page.headers['set-cookie']]
    .flat()
    .map((line) => line.split(';')[0])
    .join('; ');
  const fields = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  const body = new URLSearchParams([
    ...fields,
    ['email', target.owner.email],
    ['password', target.owner.password],
  ]).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie };
  const answer = await send('POST', '/sign-in', body, headers);
  await textOf(answer);
  count(`sign-in ${answer.statusCode}`);
}

async function post(thread) {
  const messages = [{ role: 'user', parts: [{ type: 'text', text: '/wait 600000' }] }];
  const response = await send(
    'POST',
    `/api/default/agent-runtime/threads/${thread}/messages`,
    { messages, agent: { id: target.agent }, tier: 'fast' },
    { ...TAKES_JSON, ...bearer(target.key) },
  ).catch((error) => ({ statusCode: error.code }));
  if (response.headers) await textOf(response).catch(() => undefined);
  count(`run ${response.statusCode}`);
}

const call = (path, name, key, headers = TAKES_BOTH) =>
  send('POST', `/api/default/mcp/${path}`, message('tools/call', { name, arguments: {} }), {
    ...headers,
    ...bearer(key),
  });

const rpc = async (path, method, params, key, headers = {}) =>
  textOf(
    await send('POST', `/api/default/mcp/${path}`, message(method, params), {
      ...TAKES_BOTH,
      ...bearer(key),
      ...headers,
    }),
  );

const message = (method, params) => ({ jsonrpc: '2.0', id: 1, method, params });

const bearer = (key) => ({ authorization: `Bearer ${key}` });

const tool = (name, body) => answerTo(`tools/${name}`, body);

async function answerTo(path, body) {
  const response = await send('POST', `/api/default/${path}`, body, { ...TAKES_JSON, ...bearer(target.key) });
  const text = await textOf(response);
  if (response.statusCode >= 400) throw new Error(`${path} answered ${response.statusCode}: ${text.slice(0, 300)}`);
  return JSON.parse(text);
}

const agent = new Agent({ keepAlive: true });

async function send(method, path, body, headers) {
  const request = openRequest(target.url + path, { method, headers, agent });
  load?.open.add(request);
  request.on('error', () => undefined).on('close', () => load?.open.delete(request));
  request.end(typeof body === 'object' ? JSON.stringify(body) : body);
  const [response] = await once(request, 'response');
  return response.on('error', () => undefined);
}

async function textOf(response) {
  let text = '';
  for await (const chunk of response) text += chunk;
  return text;
}

/** Answers with bytes that are made once: the load is what the service does with them. */
async function startUpstream() {
  const line = 'The quick brown fox jumps over the \\"lazy\\" dog: 0123456789.\\n';
  const large = JSON.stringify('#').slice(0, -2) + line.repeat(ANSWER_BYTES / line.length) + '"';
  const result = Buffer.from(`{"content":[{"type":"text","text":${large}}]}`);
  const lines = JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'x'.repeat(8_000) },
  });
  const notices = Buffer.from(`data: ${lines}\n\n`.repeat(512));
  const tools = ['large', 'lines', 'small'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
    const { id, method, params } = JSON.parse(await textOf(request));
    if (id === undefined) return void response.writeHead(202).end();
    const isEvents = request.url === '/events';
    const begin = (type, more = {}) => response.writeHead(200, { 'content-type': type, ...more });
    const answer = (value) => begin('application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result: value }));
    if (method === 'initialize') {
      const info = { name: 'load', version: '1' };
      return answer({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: info });
    }
    if (method !== 'tools/call') return answer({ tools });
    if (params.name === 'small') return answer({ content: [] });
    if (isEvents) {
      begin('text/event-stream');
      if (params.name === 'lines') response.write(notices);
      response.write(`event: message\ndata: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`);
      response.write(params.name === 'large' ? result : '{}');
      return void response.end('}\n\n');
    }
    begin('application/json').write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`);
    response.write(result);
    response.end('}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}/`;
}
