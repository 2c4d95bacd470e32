import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant, type Tenant } from '../support/tenant.js';
import {
  type AnswerScript,
  answerText,
  type ProxiedUpstream,
  RESULT,
  startProxiedUpstream,
} from '../support/proxied-upstream.js';
import { callProxy, errorIn, pathOf, rpc, rpcOf, TAKES_JSON, TAKES_STREAMS, toolCall } from '../support/proxy-calls.js';
import { auditOf, connectTo, keyWith } from '../support/proxy-connections.js';
import { JSON_TYPE, type ScriptedServer, sendJson, sendResult, SSE_TYPE } from '../support/scripted-upstream.js';

/** What an upstream can do instead of answering. */
const GARBAGE: Record<string, AnswerScript> = {
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

let proxied: ProxiedUpstream;
let app: Tenant;
let upstream: ScriptedServer;

beforeAll(async () => {
  proxied = await startProxiedUpstream(newTenant);
  ({ app, upstream } = proxied);
});
afterAll(() => proxied?.close());

describe.each(['without a session', 'in a session'])('an upstream that answers garbage, %s', (how) => {
  describe.each([
    ['one JSON body', TAKES_JSON],
    ['a stream', TAKES_STREAMS],
  ])('to a caller that accepts %s', (_form, accepted) => {
    it.each(Object.entries(GARBAGE))('%s', async (what, script) => {
      const path = await proxied.connected();
      const session = how === 'in a session' ? await proxied.openSession(path) : {};
      const headers = { ...session, ...accepted };
      const call = (id: string) => callProxy(app, path, { key: app.apiKey, headers, body: toolCall('fine', {}, id) });
      const answer = await proxied.whileCalling(script, () => call('mine'));

      const { code = 0, data } = errorIn(answer) ?? {};
      const breaksOff = /breaks off|is reset/.test(what);
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

      // The next request is answered.
      expect((await call('next')).text).toContain('"text":"fine"');
    });
  });
});

describe('an invalid list', () => {
  it.each<[string, unknown]>([
    ['tools without a schema', [{ name: 'fine' }]],
    ['tools whose schema is a string', [{ name: 'fine', inputSchema: 'object' }]],
    ['tools whose schema is an array', [{ name: 'fine', inputSchema: [] }]],
    ['tools whose schema is null', [{ name: 'fine', inputSchema: null, _meta: null }]],
    ['tools without a name', [{ inputSchema: {} }, null, 1, [], 'fine']],
    ['an object', { fine: {} }],
    ['null', null],
  ])('does not cause a 500 for a caller whose list is filtered: %s', async (_what, tools) => {
    const connectionId = await connectTo(app, upstream.url);
    const key = await keyWith(app, { [connectionId]: ['fine'] });
    await proxied.whileListing(
      (response, message) => sendResult(response, message, { tools }),
      async () => {
        const list = await callProxy(app, pathOf(app, connectionId), { key, body: rpc('tools/list') });
        const call = await callProxy(app, pathOf(app, connectionId), { key, body: toolCall('fine') });
        const codes = [list, call].map((answer) => rpcOf(answer).error?.data.code);
        expect(codes).not.toContain('internal');
      },
    );
  });
});
