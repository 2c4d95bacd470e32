import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startTestApp, type TestApp } from './support/app.js';
import { callProxy, openProxy, pathOf, type ProxyAnswer, rpc, rpcOf, toolCall } from './support/proxy-calls.js';
import { auditOf, connectTo, keyWith, until } from './support/proxy-connections.js';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendJson,
  sendResult,
  startScripted,
} from './support/scripted-upstream.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const SSE_TYPE = { 'content-type': 'text/event-stream' };
const RESULT = { content: [{ type: 'text', text: 'fine' }] };

const answerText = ({ id }: RpcMessage): string => JSON.stringify({ jsonrpc: '2.0', id, result: RESULT });

/** What an upstream may do instead of answering, by the name of the tool that does it. */
const GARBAGE: Record<string, (response: ServerResponse, message: RpcMessage) => void> = {
  HTML: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello</p>'),
  'no content type': (response, message) => response.writeHead(200).end(answerText(message)),
  nothing: (response) => response.writeHead(200, JSON_TYPE).end(),
  '202 without a body': (response) => response.writeHead(202).end(),
  '204': (response) => response.writeHead(204).end(),
  'text that is no JSON': (response) => response.writeHead(200, JSON_TYPE).end('"jsonrpc" is what I do not speak'),
  'JSON that is no JSON-RPC': (response) => response.writeHead(200, JSON_TYPE).end('{"hello":"world"}'),
  'a batch': (response, message) => response.writeHead(200, JSON_TYPE).end(`[${answerText(message)}]`),
  'the answer to another id': (response) => sendJson(response, { jsonrpc: '2.0', id: 'other', result: RESULT }),
  'an answer without an id': (response) => sendJson(response, { jsonrpc: '2.0', result: RESULT }),
  'neither a result nor an error': (response, { id }) => sendJson(response, { jsonrpc: '2.0', id }),
  'JSON cut off': (response, message) => response.writeHead(200, JSON_TYPE).end(answerText(message).slice(0, -12)),
  'JSON that breaks off': (response, message) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': '100000' }).write(answerText(message));
    setTimeout(() => response.destroy(), 50);
  },
  'JSON that is reset': (response, message) => {
    response.writeHead(200, JSON_TYPE).write(answerText(message));
    setTimeout(() => response.socket?.resetAndDestroy(), 50);
  },
  'an empty stream': (response) => response.writeHead(200, SSE_TYPE).end(),
  'a stream of comments': (response) => response.writeHead(200, SSE_TYPE).end(': hello\n\n: world\n\n'),
  'a stream of nonsense': (response) => response.writeHead(200, SSE_TYPE).end('data: nonsense\n\nrubbish\n\n\0\0\0'),
  'a stream with the answer to another id': (response) =>
    response.writeHead(200, SSE_TYPE).end('data: {"jsonrpc":"2.0","id":"other","result":{}}\n\n'),
  'half a frame': (response, message) =>
    response.writeHead(200, SSE_TYPE).end(`data: ${answerText(message).slice(0, -12)}`),
  'a frame with half an answer': (response, message) =>
    response.writeHead(200, SSE_TYPE).end(`data: ${answerText(message).slice(0, -12)}\n\n`),
  'half a frame that breaks off': (response, message) => {
    response.writeHead(200, SSE_TYPE).write(`data: ${answerText(message).slice(0, -12)}`);
    setTimeout(() => response.destroy(), 50);
  },
};

/** Tools that do something else; the others of `GARBAGE` are tools too. */
const TOOLS = [...Object.keys(GARBAGE), 'fine'].map((name) => ({ name, inputSchema: { type: 'object' } }));

let app: TestApp;
let upstream: ScriptedServer;
/** Stands for a metadata service: nothing must ever ask it. */
let metadata: ScriptedServer;
/** What the upstream does with a tool call; a test may set it. */
let onCall: (response: ServerResponse, message: RpcMessage) => unknown;
let onList: (response: ServerResponse, message: RpcMessage) => unknown;
let server: ReturnType<typeof legacyServer>;

const byName = (response: ServerResponse, message: RpcMessage): unknown =>
  (GARBAGE[String(message.params?.['name'])] ?? ((r, m) => sendResult(r, m, RESULT)))(response, message);

beforeAll(async () => {
  onCall = byName;
  onList = (response, message) => sendResult(response, message, { tools: TOOLS });
  server = legacyServer(({ message }, response) => {
    if (message.method === 'tools/list') onList(response, message);
    else if (message.method === 'tools/call') onCall(response, message);
    else sendResult(response, message, {});
  });
  upstream = await startScripted(server.script);
  metadata = await startScripted((_request, response) => void response.writeHead(200).end('secrets'));
  app = await startTestApp();
});

afterAll(async () => {
  await app?.close();
  await upstream?.close();
  await metadata?.close();
});

/** A connection of its own, so that no test sees the breaker that another one has opened. */
async function connected(more: object = {}): Promise<string> {
  return pathOf(await connectTo(app, upstream.url, more));
}

/** Does other things with tool calls while `work` goes on. */
async function whileCalling<T>(script: typeof onCall, work: () => Promise<T>): Promise<T> {
  onCall = script;
  try {
    return await work();
  } finally {
    onCall = byName;
  }
}

const JSON_ONLY = {};
const STREAMS = { accept: 'application/json, text/event-stream' };

async function openSession(path: string): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const answer = await callProxy(app, path, { key: app.apiKey, headers: STREAMS, body: rpc('initialize', params, 0) });
  expect(answer.status).toBe(200);
  return { 'mcp-session-id': String(answer.headers['mcp-session-id']), 'mcp-protocol-version': '2025-11-25' };
}

/** The error of an answer, whichever form the answer has; undefined when it has none. */
function errorIn({ text, headers }: ProxyAnswer) {
  if (headers['content-type']?.startsWith('text/event-stream') !== true) return rpcOf({ text }).error;
  const events = text.split('\n\n').filter((event) => event.includes('data:'));
  return rpcOf({ text: (events.at(-1) ?? '').replace(/^(event:.*\n)?data:/, '') }).error;
}

describe.each(['without a session', 'in a session'])('an upstream that answers garbage, %s', (how) => {
  describe.each([
    ['one JSON body', JSON_ONLY],
    ['a stream', STREAMS],
  ])('to a caller that takes %s', (_form, accepted) => {
    it.each(Object.keys(GARBAGE))('%s', async (tool) => {
      const path = await connected();
      const session = how === 'in a session' ? await openSession(path) : {};
      const headers = { ...session, ...accepted };
      const answer = await callProxy(app, path, { key: app.apiKey, headers, body: toolCall(tool, {}, 'mine') });

      const { code = 0, data } = errorIn(answer) ?? {};
      const breaksOff = /breaks off|is reset/.test(tool);
      expect({ code, word: data?.code }).toEqual(
        breaksOff ? { code: -32000, word: 'upstream_unreachable' } : { code: -32603, word: 'upstream_protocol' },
      );
      expect(answer.text).toContain('"id":"mine"');
      expect(answer.text).not.toContain('sbx-');
      if (answer.headers['content-type']?.startsWith('application/json') === true)
        expect(answer.status).toBe(breaksOff ? 503 : 500);
      expect(await auditOf(app, String(answer.headers['x-request-id']))).toMatchObject({
        status: 'error',
        error_code: breaksOff ? 'upstream_unreachable' : 'upstream_protocol',
      });

      // The next one is answered.
      const next = await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('fine', {}, 'next') });
      expect(next.text).toContain('"text":"fine"');
    });
  });
});

/** Calls a tool of a new connection, whose upstream does this with the call. */
async function calledWith(script: typeof onCall, more: object = {}, headers: Record<string, string> = {}) {
  const path = await connected(more);
  return whileCalling(script, () => callProxy(app, path, { key: app.apiKey, headers, body: toolCall('fine') }));
}

describe('an upstream that refuses', () => {
  it.each([
    [401, 'upstream_unauthorized'],
    [403, 'upstream_unauthorized'],
    [429, 'upstream_unreachable'],
    [500, 'upstream_unreachable'],
    [503, 'upstream_unreachable'],
  ])('with %d is unavailable to the caller: %s', async (status, code) => {
    const answer = await calledWith((response) =>
      response
        .writeHead(status, { ...JSON_TYPE, 'www-authenticate': 'Bearer realm="theirs"', 'set-cookie': 'theirs=1' })
        .end('{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"theirs"}}'),
    );
    expect({ status: answer.status, rpc: rpcOf(answer).error?.code, code: rpcOf(answer).error?.data.code }).toEqual({
      status: 503,
      rpc: -32000,
      code,
    });
    expect(answer.text + JSON.stringify(answer.headers)).not.toContain('theirs');
    const record = await auditOf(app, String(answer.headers['x-request-id']));
    expect(record).toMatchObject({ status: 'error', error_code: code });
  });

  it('in JSON-RPC is relayed as it is', async () => {
    const error = { code: -31999, message: 'Mine', data: { why: ['a', { b: 1 }] } };
    const answer = await calledWith((response, { id }) => sendJson(response, { jsonrpc: '2.0', id, error }));
    expect({ status: answer.status, body: JSON.parse(answer.text) as unknown }).toEqual({
      status: 200,
      body: { jsonrpc: '2.0', id: 1, error },
    });
    const record = await auditOf(app, String(answer.headers['x-request-id']));
    expect(record).toMatchObject({ status: 'error', error_code: 'tool_error' });
  });

  it('by a tool that failed is relayed as it is', async () => {
    const result = { content: [], isError: true };
    const answer = await calledWith((response, message) => sendResult(response, message, result));
    expect(rpcOf(answer)).toEqual({ jsonrpc: '2.0', id: 1, result });
    const record = await auditOf(app, String(answer.headers['x-request-id']));
    expect(record).toMatchObject({ status: 'error', error_code: 'tool_error' });
  });

  it.each([301, 302, 303, 307, 308])('with the redirect %d is not followed', async (status) => {
    const answer = await calledWith((response) =>
      response.writeHead(status, { location: `${metadata.origin}/latest/meta-data/` }).end(),
    );
    expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
      status: 500,
      code: 'upstream_protocol',
    });
    expect(answer.headers).not.toHaveProperty('location');
    expect(metadata.requests).toEqual([]);
  });

  it('with a redirect of everything is not followed', async () => {
    const redirecting = await startScripted((_request, response) => {
      response.writeHead(307, { location: metadata.url }).end();
    });
    const path = pathOf(await connectTo(app, redirecting.url));
    const answer = await callProxy(app, path, { key: app.apiKey, body: toolCall('fine') });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(metadata.requests).toEqual([]);
    await redirecting.close();
  });
});

describe('what passes', () => {
  const SECRET = 'sbx-test-secret';
  const HEADERS = {
    cookie: 'session=mine',
    'x-signalbox-user': 'admin',
    'x-forwarded-for': '10.0.0.1',
    'x-api-key': 'mine',
    'proxy-authorization': 'Basic bWluZQ==',
    'x-request-id': 'request-of-mine',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  };

  it.each(['', '/call-tool/fine'])('to the upstream: its own credentials, never the caller’s (%s)', async (more) => {
    const path = await connected({
      connection_token: SECRET,
      connection_headers: { headers: { 'x-tenant': 'seven' } },
    });
    const before = upstream.calls('tools/call').length;
    const body = more === '' ? toolCall('fine') : {};
    const answer = await callProxy(app, path + more, { key: app.apiKey, headers: HEADERS, body });
    expect(answer.status).toBe(200);
    const [request] = upstream.calls('tools/call').slice(before);
    const sent = request?.headers ?? {};
    expect(sent).toMatchObject({
      authorization: `Bearer ${SECRET}`,
      'x-tenant': 'seven',
      'x-request-id': 'request-of-mine',
      traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-0[01]$/),
    });
    const text = JSON.stringify(sent);
    expect(text).not.toContain(app.apiKey);
    for (const name of ['cookie', 'x-signalbox-user', 'x-forwarded-for', 'x-api-key', 'proxy-authorization']) {
      expect(sent).not.toHaveProperty(name);
    }
  });

  it('in a session as well', async () => {
    const path = await connected({ connection_token: SECRET });
    const session = await openSession(path);
    const before = upstream.requests.length;
    const headers = { ...HEADERS, ...session };
    await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('fine') });
    const sent = upstream.requests.slice(before).find(({ message }) => message.method === 'tools/call')?.headers;
    expect(sent).toMatchObject({ authorization: `Bearer ${SECRET}`, 'x-request-id': 'request-of-mine' });
    expect(JSON.stringify(sent)).not.toMatch(/mine=|session=mine|admin/);
    expect(sent?.['mcp-session-id']).not.toBe(session['mcp-session-id']);
  });

  it.each([
    ['JSON', JSON_TYPE, ''],
    ['a stream', SSE_TYPE, 'data: '],
  ])('back from it: no cookie, no challenge, no session (%s)', async (_form, type, prefix) => {
    const answer = await calledWith(
      (response, message) =>
        response
          .writeHead(200, {
            ...type,
            'set-cookie': 'theirs=1',
            'www-authenticate': 'Bearer realm="theirs"',
            'mcp-session-id': 'theirs',
            'access-control-allow-origin': '*',
            server: 'theirs',
          })
          .end(`${prefix}${answerText(message)}\n\n`),
      {},
      STREAMS,
    );
    expect(answer.text).toContain('fine');
    expect(JSON.stringify(answer.headers)).not.toContain('theirs');
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  });
});

describe('the form of the answer', () => {
  const progress = (token: string): string =>
    `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"${token}","progress":1}}\n\n`;

  it('is one JSON body for a caller that takes no stream', async () => {
    const answer = await calledWith((response, message) => {
      response.writeHead(200, SSE_TYPE);
      response.end(`: hello\n\n${progress('a')}event: message\r\nid: 7\r\ndata: ${answerText(message)}\r\n\r\n`);
    });
    expect(answer.headers['content-type']).toMatch(/^application\/json\b/);
    expect(rpcOf(answer)).toEqual({ jsonrpc: '2.0', id: 1, result: RESULT });
  });

  it('is the stream for a caller that takes one, notifications first', async () => {
    const script: typeof onCall = (response, message) =>
      response.writeHead(200, SSE_TYPE).end(`${progress('a')}data: ${answerText(message)}\n\n`);
    const answer = await calledWith(script, {}, STREAMS);
    expect(answer.headers['content-type']).toBe('text/event-stream');
    expect(answer.text).toMatch(/notifications\/progress[^]*"id":1,"result"/);
  });

  it('keeps an answer whose data stands on several lines', async () => {
    const script: typeof onCall = (response, message) => {
      const lines = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: RESULT }, null, 1).split('\n');
      response.writeHead(200, SSE_TYPE).end(`${lines.map((line) => `data: ${line}`).join('\n')}\n\n`);
    };
    const { text } = await calledWith(script, {}, STREAMS);
    const data = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
    expect(JSON.parse(data.join('\n'))).toEqual({ jsonrpc: '2.0', id: 1, result: RESULT });
  });

  it.each([
    ['one JSON body', JSON_ONLY],
    ['a stream', STREAMS],
  ])('is not what merely mentions the request (%s)', async (_form, accepted) => {
    const script: typeof onCall = (response, message) => {
      const data = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: message.id } };
      response.writeHead(200, SSE_TYPE).write(`data: ${JSON.stringify(data)}\n\n`);
      response.end(`data: ${answerText(message)}\n\n`);
    };
    const { text } = await calledWith(script, {}, accepted);
    expect(text).toContain('"text":"fine"');
    expect(text).not.toContain('sbx-');
  });

  it.each(['\n', '\r\n'])('may be an event of a megabyte, whatever ends its lines: %j', async (end) => {
    const long = 'x'.repeat(1_000_000);
    const script: typeof onCall = (response, { id }) => {
      const result = { content: [{ type: 'text', text: long }] };
      const data = JSON.stringify({ result, jsonrpc: '2.0', id });
      response.writeHead(200, SSE_TYPE).end(`event: message${end}data: ${data}${end}${end}`);
    };
    const answer = await calledWith(script, {}, STREAMS);
    const events = answer.text.split(end + end).filter((event) => event !== '');
    expect(events).toHaveLength(1);
    const data = events[0]?.split(end).find((line) => line.startsWith('data:')) ?? '';
    expect(JSON.parse(data.slice('data:'.length))).toMatchObject({ id: 1, result: { content: [{ text: long }] } });
    expect(await auditOf(app, String(answer.headers['x-request-id']))).toMatchObject({ status: 'success' });
  });

  const LARGE = { content: [{ type: 'text', text: 'x'.repeat(300_000) }] };

  it.each([
    ['first', { jsonrpc: '2.0', id: 2, result: LARGE }, /"code":"upstream_protocol"/],
    ['last', { result: LARGE, jsonrpc: '2.0', id: 2 }, /^broken off$/],
  ])('is not the large answer to another request, whose id comes %s', async (_place, foreign, said) => {
    const withMention = (id: unknown): string => JSON.stringify({ mentioned: id, ...foreign });
    const json: typeof onCall = (response, { id }) => response.writeHead(200, JSON_TYPE).end(withMention(id));
    const answer = calledWith(json, {}, STREAMS).then(
      ({ text }) => text,
      () => 'broken off',
    );
    expect(await answer).toMatch(said);
    const events: typeof onCall = (response, { id }) =>
      response.writeHead(200, SSE_TYPE).end(`data: ${withMention(id)}\n\n`);
    const { text } = await calledWith(events, {}, STREAMS);
    expect(text).toContain('"code":"upstream_protocol"');
    expect(text).not.toMatch(/"id":2\}/);
  });

  it('says so when it breaks off in the middle of such an event', async () => {
    const script: typeof onCall = (response, { id }) => {
      response.writeHead(200, SSE_TYPE).write(`data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"x":"`);
      response.write('x'.repeat(200_000));
      setTimeout(() => response.destroy(), 200);
    };
    const answer = await calledWith(script, {}, STREAMS);
    expect(errorIn(answer)?.data.code).toBe('upstream_unreachable');
  });
});

describe('a slow upstream', () => {
  it.each([
    ['before it answers', () => undefined, JSON_ONLY],
    [
      'in the middle of a stream',
      (response: ServerResponse) => response.writeHead(200, SSE_TYPE).write(': hi\n\n'),
      STREAMS,
    ],
    ['with an endless stream', (response: ServerResponse) => flood(response, SSE_TYPE, ': more\n\n'), JSON_ONLY],
  ] as [string, (response: ServerResponse) => void, Record<string, string>][])(
    'times out and is told so: %s',
    async (_when, script, accepted) => {
      const before = upstream.requests.length;
      const answer = await calledWith(script, { timeout: 1000 }, accepted);
      expect(answer.status).toBe(200);
      expect(errorIn(answer)).toMatchObject({ code: -32603, data: { code: 'upstream_timeout' } });
      const since = () => upstream.requests.slice(before).map(({ message }) => message);
      await until('the call is cancelled', () => since().some(({ method }) => method === 'notifications/cancelled'));
      const call = since().find(({ method }) => method === 'tools/call');
      const cancelled = since().find(({ method }) => method === 'notifications/cancelled');
      expect(cancelled?.params?.['requestId']).toBe(call?.id);
      const record = await auditOf(app, String(answer.headers['x-request-id']));
      expect(record).toMatchObject({ status: 'error', error_code: 'upstream_timeout' });
    },
  );
});

describe('a caller that hangs up', () => {
  it.each<[string, (response: ServerResponse) => void]>([
    ['before the answer', () => undefined],
    ['during the answer', (response) => flood(response, JSON_TYPE, 'x'.repeat(65_536))],
    ['during the stream', (response) => flood(response, SSE_TYPE, 'data: {"jsonrpc":"2.0"}\n\n')],
  ])('ends the call at the upstream, with a session and without: %s', async (_when, script) => {
    for (const hasSession of [false, true]) {
      const path = await connected();
      const requestId = `gone-${randomUUID()}`;
      const session = hasSession ? await openSession(path) : {};
      const before = upstream.calls('tools/call').length;
      await whileCalling(script, async () => {
        const abort = new AbortController();
        const gone = fetch(app.url + path, {
          method: 'POST',
          signal: abort.signal,
          headers: {
            ...JSON_TYPE,
            ...STREAMS,
            ...session,
            authorization: `Bearer ${app.apiKey}`,
            'x-request-id': requestId,
          },
          body: JSON.stringify(toolCall('fine')),
        }).catch(() => undefined);
        await until('the call is under way', () => upstream.calls('tools/call').length > before);
        // Nothing of the answer is read, so that it waits everywhere on its way.
        await Promise.race([gone, sleep(300)]);
        abort.abort();
        await gone;
        expect(await upstream.calls('tools/call')[before]?.hungUp).toBe(true);
      });
      await until('the end is recorded', async () => (await auditOf(app, requestId)) !== undefined);
      expect(await auditOf(app, requestId)).toMatchObject({ status: 'error', error_code: 'upstream_cancelled' });
    }
  });
});

describe('an upstream that sends without end', () => {
  it('lists no more tools than can be held', async () => {
    const connectionId = await connectTo(app, upstream.url);
    const key = await keyWith(app, { [connectionId]: ['fine'] });
    const listed = onList;
    let sent = 0;
    onList = (response) => {
      sent = 0;
      flood(response, JSON_TYPE, 'x'.repeat(65_536), (bytes) => (sent += bytes));
    };
    try {
      const answer = await callProxy(app, pathOf(connectionId), { key, body: rpc('tools/list') });
      expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
        status: 500,
        code: 'upstream_protocol',
      });
      expect(sent).toBeLessThan(64 * 1024 * 1024);
    } finally {
      onList = listed;
    }
  });

  it('gathers no event that is too large for one body', async () => {
    const answer = await calledWith((response) => flood(response, SSE_TYPE, `data: ${'x'.repeat(65_536)}`));
    expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
      status: 500,
      code: 'upstream_protocol',
    });
  });
});

describe('a result of 100 MB', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;

  /** Bytes that somebody still holds. */
  function memoryInUse(): number {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  }

  const PIECE = 'x'.repeat(1_000_000);
  const PIECES = 100;

  it.each([
    ['JSON', JSON_TYPE, '', ''],
    ['a stream', SSE_TYPE, 'data: ', '\n\n'],
  ])('passes through call-tool with flat memory: %s', async (_form, type, before, after) => {
    const path = await connected();
    const script: typeof onCall = async (response, { id }) => {
      const head = `${before}{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"`;
      response.writeHead(200, type).write(head);
      for (let i = 0; i < PIECES; i++) if (!response.write(PIECE)) await once(response, 'drain');
      response.end(`"}]}}${after}`);
    };
    await whileCalling(script, async () => {
      const requested = { key: app.apiKey, headers: STREAMS, body: {} };
      const response = await openProxy(app, `${path}/call-tool/fine`, requested);
      let size = 0;
      let last = '';
      const memoryAtStart = memoryInUse();
      let growth = 0;
      let looked = 0;
      for await (const chunk of response as AsyncIterable<Buffer>) {
        size += chunk.length;
        last = chunk.subarray(-64).toString();
        if (size - looked < 5_000_000) continue;
        looked = size;
        growth = Math.max(growth, memoryInUse() - memoryAtStart);
      }
      expect(response.statusCode).toBe(200);
      expect(size).toBeGreaterThan(PIECES * PIECE.length);
      expect(last.trimEnd()).toMatch(/x"\}\]\}\}$/);
      // Upstream, service and caller are all in this process; each of them holding the result would be 300 MB.
      expect(looked).toBeGreaterThan(0);
      expect(growth).toBeLessThan(50 * 1024 * 1024);
      expect(await auditOf(app, String(response.headers['x-request-id']))).toMatchObject({ status: 'success' });
    });
  });
});

describe('10,000 tools', () => {
  it('can be listed and called', async () => {
    const many = Array.from({ length: 10_000 }, (_, n) => ({
      name: `tool_${n}`,
      description: `Number ${n}`,
      inputSchema: { type: 'object', properties: { n: { type: 'integer' } } },
    }));
    const listed = onList;
    onList = (response, message) => sendResult(response, message, { tools: many });
    try {
      const connectionId = await connectTo(app, upstream.url);
      const key = await keyWith(app, { [connectionId]: ['tool_7', 'tool_9999', 'tool_10000'] });
      const all = await callProxy(app, pathOf(connectionId), { key: app.apiKey, body: rpc('tools/list') });
      expect(rpcOf(all).result?.tools).toHaveLength(10_000);
      const some = await callProxy(app, pathOf(connectionId), { key, body: rpc('tools/list') });
      expect(rpcOf(some).result?.tools?.map(({ name }) => name)).toEqual(['tool_7', 'tool_9999']);
      const call = await callProxy(app, pathOf(connectionId), { key, body: toolCall('tool_9999', { n: 1 }) });
      expect(rpcOf(call).result).toEqual(RESULT);
      const unknown = await callProxy(app, pathOf(connectionId), { key, body: toolCall('tool_10000') });
      expect(rpcOf(unknown).error?.data.code).toBe('unknown_tool');
    } finally {
      onList = listed;
    }
  });
});

describe('a list that is not one', () => {
  it.each<[string, unknown]>([
    ['tools without a schema', [{ name: 'fine' }]],
    ['tools whose schema is a string', [{ name: 'fine', inputSchema: 'object' }]],
    ['tools whose schema is an array', [{ name: 'fine', inputSchema: [] }]],
    ['tools whose schema is null', [{ name: 'fine', inputSchema: null, _meta: null }]],
    ['tools without a name', [{ inputSchema: {} }, null, 1, [], 'fine']],
    ['an object', { fine: {} }],
    ['null', null],
  ])('ends in no 500 of our own, for a caller whose list is filtered: %s', async (_what, tools) => {
    const connectionId = await connectTo(app, upstream.url);
    const key = await keyWith(app, { [connectionId]: ['fine'] });
    const listed = onList;
    onList = (response, message) => sendResult(response, message, { tools });
    try {
      const list = await callProxy(app, pathOf(connectionId), { key, body: rpc('tools/list') });
      const call = await callProxy(app, pathOf(connectionId), { key, body: toolCall('fine') });
      const codes = [list, call].map((answer) => rpcOf(answer).error?.data.code);
      expect(codes).not.toContain('internal');
    } finally {
      onList = listed;
    }
  });
});

describe('an upstream that has forgotten the session', () => {
  it('is greeted again once, and the call is repeated once, for a caller without one', async () => {
    const path = await connected();
    expect((await callProxy(app, path, { key: app.apiKey, body: toolCall('fine') })).status).toBe(200);
    server.forget();
    const before = upstream.requests.length;
    const answer = await callProxy(app, path, { key: app.apiKey, body: toolCall('fine', {}, 'again') });
    expect(rpcOf(answer)).toEqual({ jsonrpc: '2.0', id: 'again', result: RESULT });
    const methods = upstream.requests.slice(before).map(({ message }) => message.method);
    expect(methods.filter((method) => method === 'tools/call')).toHaveLength(2);
    expect(methods.filter((method) => method === 'initialize')).toHaveLength(1);
  });

  it('is not asked for ever when it forgets every session at once', async () => {
    const forgetful = legacyServer((_request, response) => void response.writeHead(404).end());
    const upstreamOfIt = await startScripted((request, response) => {
      if (request.message.method === 'tools/list') return sendResult(response, request.message, { tools: TOOLS });
      return forgetful.script(request, response);
    });
    const path = pathOf(await connectTo(app, upstreamOfIt.url));
    const answer = await callProxy(app, path, { key: app.apiKey, body: toolCall('fine') });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(upstreamOfIt.calls('tools/call')).toHaveLength(2);
    await upstreamOfIt.close();
  });

  it('makes the session of a caller one that is not found', async () => {
    const path = await connected();
    const headers = await openSession(path);
    expect((await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('fine') })).status).toBe(200);
    server.forget();
    const answer = await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('fine') });
    expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
      status: 404,
      code: 'session_not_found',
    });
  });
});

describe('a connection', () => {
  const statusOf = async (id: string): Promise<string> =>
    (await app.tool('COLLECTION_CONNECTIONS_GET', { id })).body.item.status as string;

  it('that is inactive is unavailable, and its upstream is not asked', async () => {
    const path = await connected({ status: 'inactive' });
    const before = upstream.requests.length;
    for (const body of [toolCall('fine'), rpc('tools/list'), rpc('ping')]) {
      const answer = await callProxy(app, path, { key: app.apiKey, body });
      expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
        status: 503,
        code: 'connection_unavailable',
      });
    }
    expect(upstream.requests).toHaveLength(before);
  });

  it('whose upstream keeps failing is given up, says when to retry, and recovers by itself', async () => {
    const state = { isDown: false };
    const { script } = legacyServer(({ message }, response) => {
      const isList = message.method === 'tools/list';
      sendResult(response, message, isList ? { tools: TOOLS } : RESULT);
    });
    const moody = await startScripted((request, response) => {
      if (state.isDown) return void response.writeHead(503).end();
      return script(request, response);
    });
    const connectionId = await connectTo(app, moody.url);
    const call = () => callProxy(app, pathOf(connectionId), { key: app.apiKey, body: toolCall('fine') });
    expect((await call()).status).toBe(200);

    state.isDown = true;
    for (let i = 0; i < 5; i++) expect(rpcOf(await call()).error?.data.code).toBe('upstream_unreachable');
    const asked = moody.requests.length;
    const refusal = await call();
    expect({ status: refusal.status, code: rpcOf(refusal).error?.data.code }).toEqual({
      status: 503,
      code: 'connection_unavailable',
    });
    expect(Number(refusal.headers['retry-after'])).toBeGreaterThan(0);
    expect(moody.requests).toHaveLength(asked);
    await until('the status is error', async () => (await statusOf(connectionId)) === 'error');

    state.isDown = false;
    await until('calls pass again', async () => (await call()).status === 200);
    await until('the status is active', async () => (await statusOf(connectionId)) === 'active');
    await moody.close();
  }, 60_000);
});

/** Writes without end, as fast as it is read. */
function flood(
  response: ServerResponse,
  type: Record<string, string>,
  piece: string,
  onSent: (bytes: number) => void = () => undefined,
): void {
  response.writeHead(200, type);
  const write = (): void => {
    while (!response.destroyed) {
      onSent(piece.length);
      if (!response.write(piece)) return;
    }
  };
  response.on('drain', write).on('error', () => undefined);
  write();
}
