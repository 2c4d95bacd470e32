import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant } from '../support/tenant.js';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import { callProxy, openProxy, pathOf, rpc, rpcOf, toolCall } from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendResult,
  startScripted,
} from '../support/scripted-upstream.js';
import { useStarted } from '../support/use-started.js';

const BOTH = 'application/json, text/event-stream';
const OPEN = { name: 'open', inputSchema: { type: 'object' } };
const DENIED = { name: 'denied', inputSchema: { type: 'object' } };
const INITIALIZE = { protocolVersion: '2025-11-25', clientInfo: { name: 'test', version: '1' }, capabilities: {} };

/** The raw bytes that the upstream answers to a request for them. */
type Answer = (message: RpcMessage, response: ServerResponse) => void;
const answers = new Map<string, Answer>();

const app = useStarted(newTenant);
let upstream: ScriptedServer;
let connectionId: string;
let key: string;

beforeAll(async () => {
  const server = legacyServer(({ message }, response) => {
    const answer = answers.get(String(message.method));
    if (answer !== undefined) return answer(message, response);
    return sendResult(response, message, message.method === 'tools/list' ? { tools: [OPEN, DENIED] } : { content: [] });
  });
  upstream = await startScripted((request, response) => {
    if (request.method !== 'GET') return server.script(request, response);
    return answers.get('GET')?.(request.message, response);
  });
  connectionId = await connectTo(app, upstream.url);
  key = await keyWith(app, { [connectionId]: ['open'] });
});
afterAll(async () => {
  await upstream?.close();
});

const asJson =
  (text: (id: string) => string): Answer =>
  ({ id }, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(text(JSON.stringify(id)));
const asEvents =
  (text: (id: string) => string): Answer =>
  ({ id }, response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text(JSON.stringify(id)));

async function openSession(path: string): Promise<Record<string, string>> {
  const { headers } = await callProxy(app, path, { key, body: rpc('initialize', INITIALIZE) });
  return { 'mcp-session-id': String(headers['mcp-session-id']), accept: BOTH };
}

const LIST = JSON.stringify({ tools: [OPEN, DENIED] });
const ESCAPED = String.raw`"\u0072esult":{"\u0074ools":${JSON.stringify([OPEN, DENIED])}}`;

describe('a tool list contains only tools that its caller is permitted to call', () => {
  const forms: readonly (readonly [string, (id: string) => string])[] = [
    ['under escaped keys', (id) => `{"jsonrpc":"2.0","id":${id},${ESCAPED}}`],
    ['in the first of two results', (id) => `{"jsonrpc":"2.0","id":${id},"result":${LIST},"result":{}}`],
    ['in the second of two results', (id) => `{"jsonrpc":"2.0","id":${id},"result":{},"result":${LIST}}`],
    [
      'in the first of two lists',
      (id) => `{"jsonrpc":"2.0","id":${id},"result":{"tools":[${JSON.stringify(DENIED)}],"tools":[]}}`,
    ],
    [
      'under keys of another case',
      (id) => `{"jsonrpc":"2.0","id":${id},"result":{"tools":[],"Tools":[${JSON.stringify(DENIED)}]},"Result":${LIST}}`,
    ],
    ['in no list', (id) => `{"jsonrpc":"2.0","id":${id},"result":{"tools":{"0":${JSON.stringify(DENIED)}}}}`],
    ['next to an error', (id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"x"},"result":${LIST}}`],
  ];
  const doors = () => [
    ['without a session', pathOf(app, connectionId)],
    ['on the legacy path', `/mcp/${connectionId}`],
  ];

  describe.each(forms)('%s', (_title, text) => {
    it.each([
      ['as JSON', asJson(text)],
      ['as an event', asEvents((id) => `data: ${text(id)}\n\n`)],
      [
        'as an event of many lines',
        asEvents((id) => `id: 7\r\nevent: message\r\ndata: ${text(id).replaceAll(',"', '\r\ndata: ,"')}\r\n\r\n`),
      ],
    ])('%s', async (_form, answer) => {
      answers.set('tools/list', answer);
      for (const [, path] of doors()) {
        const shared = await callProxy(app, String(path), { key, headers: { accept: BOTH }, body: rpc('tools/list') });
        expect(shared.text).not.toContain('denied');
        const gathered = await callProxy(app, String(path), { key, body: rpc('tools/list') });
        expect(gathered.text).not.toContain('denied');
        const headers = await openSession(String(path));
        const own = await callProxy(app, String(path), { key, headers, body: rpc('tools/list', {}, 2) });
        expect(own.text).not.toContain('denied');
        expect(own.text).toContain('"id":2');
      }
      answers.delete('tools/list');
    });
  });
});

describe('the answer to another request', () => {
  const call = toolCall('open', {}, 5);
  const own = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"n":12345678901234567890}}`;
  /** An answer to a list that the caller could have requested under the id 2. */
  const sneaked = `{"jsonrpc":"2.0","id":2,"result":${LIST}}`;

  it.each([
    ['an event of its own', () => `data: ${sneaked}\n\n`],
    ['escaped keys', () => `data: {"jsonrpc":"2.0","\\u0069d":2,${ESCAPED}}\n\n`],
    ['a batch', () => `data: [${sneaked}]\n\n`],
    ['several lines of data', () => `data: ${sneaked}\ndata: ${sneaked}\n\n`],
    ['lines that end with CR', () => `data: ${sneaked}\rdata: ${sneaked}\r\r`],
    ['a comment', () => `:\u2028data: ${sneaked}\n\n`],
    ['the id of an event', () => `id: \u2028data: ${sneaked}\u2028\u2028\ndata: \n\n`],
    ['an unknown field', () => `x\ufeffdata: ${sneaked}\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\n\n`],
    ['a notification', () => `data: {"jsonrpc":"2.0","method":"notifications/x","id":2,"result":${LIST}}\n\n`],
    [
      'a text after a line end that JSON allows',
      () =>
        `data: {"jsonrpc":"2.0","method":"notifications/x","params":{"a":"\u2028data: ${sneaked.replaceAll('"', '\\"')}\u2029\u2029"}}\n\n`,
    ],
    ['a second id', (id: string) => `data: {"jsonrpc":"2.0","id":2,"result":${LIST},"id":${id}}\n\n`],
    ['an id of another case', (id: string) => `data: {"jsonrpc":"2.0","id":${id},"result":${LIST},"Id":2}\n\n`],
  ])('does not deliver a list in %s', async (_title, event) => {
    answers.set(
      'tools/call',
      asEvents((id) => `${event(id)}data: ${own(id)}\n\n`),
    );
    const path = pathOf(app, connectionId);
    const headers = await openSession(path);
    for (const more of [headers, { accept: BOTH }]) {
      const { text } = await callProxy(app, path, { key, headers: more, body: call });
      // Either nothing of it, or text in a string that no reader parses as an event.
      expect(
        readAsLinesOfAnyKind(text).filter(
          ({ id, result }) => id !== 5 && result !== undefined && JSON.stringify(result).includes('denied'),
        ),
      ).toEqual([]);
      expect(text).toMatch(/"id":5,/);
    }
    answers.delete('tools/call');
  });

  it('keeps the numbers of a tool as the tool wrote them', async () => {
    const path = pathOf(app, connectionId);
    for (const answer of [asJson(own), asEvents((id) => `data: ${own(id)}\n\n`)]) {
      answers.set('tools/call', answer);
      for (const headers of [await openSession(path), { accept: BOTH }]) {
        const { text } = await callProxy(app, path, { key, headers, body: call });
        expect(text).toContain('12345678901234567890');
      }
    }
    answers.delete('tools/call');
  });

  it('is rejected as JSON with two ids', async () => {
    answers.set(
      'tools/call',
      asJson((id) => `{"jsonrpc":"2.0","id":2,"result":${LIST},"id":${id}}`),
    );
    const answer = await callProxy(app, pathOf(app, connectionId), { key, body: call });
    expect(rpcOf(answer).error?.data.code).toBe('upstream_protocol');
    expect(answer.text).not.toContain('denied');
    answers.delete('tools/call');
  });

  it('passes when it is too large to parse, without the other fields of its event', async () => {
    const large = (id: string): string =>
      `{"jsonrpc":"2.0","result":{"content":[],"t":"${'x\u2028'.repeat(600_000)}"},"id":${id}}`;
    answers.set(
      'tools/call',
      asEvents((id) => `:\u2028data: ${sneaked}\nid: 9\ndata: ${large(id)}\n\n`),
    );
    const path = pathOf(app, connectionId);
    const { text } = await callProxy(app, path, { key, headers: await openSession(path), body: call });
    expect(text).not.toContain('denied');
    expect(text).not.toContain('\u2028');
    const data = text.split('\n').find((line) => line.startsWith('data:')) ?? '';
    expect(rpcOf({ text: data.slice('data:'.length) })).toEqual(rpcOf({ text: large('5') }));
    answers.delete('tools/call');
  });

  it('does not pass when it is too large to parse and answers another request', async () => {
    answers.set(
      'tools/call',
      asEvents(
        () =>
          `data: {"jsonrpc":"2.0","result":{"tools":[${JSON.stringify(DENIED)}],"t":"${'x'.repeat(2_000_000)}"},"id":2}\n\n`,
      ),
    );
    const path = pathOf(app, connectionId);
    const { text } = await callProxy(app, path, { key, headers: await openSession(path), body: call });
    expect(text).not.toContain('"id":2}');
    expect(text).toContain('upstream_protocol');
    answers.delete('tools/call');
  });
});

it.each([
  ['direct', () => pathOf(app, connectionId)],
  ['legacy', () => `/mcp/${connectionId}`],
])('a stream of unsolicited messages does not deliver a list: %s', async (_title, path) => {
  const text = [
    `data: {"jsonrpc":"2.0","id":2,${ESCAPED}}\n\n`,
    `data: {"jsonrpc":"2.0","id":2,"result":${LIST},"result":{}}\n\n`,
    `data: [{"jsonrpc":"2.0","id":2,"result":${LIST}}]\n\n`,
    `:\u2028data: ${LIST}\n\n`,
    'id: 4\ndata: {"jsonrpc":"2.0","method":"notifications/last"}\n\n',
  ].join('');
  answers.set(
    'GET',
    (_message, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text),
  );
  const stream = await callProxy(app, path(), { method: 'GET', key, headers: await openSession(path()) });
  expect(stream.text).not.toContain('denied');
  expect(stream.text).toContain('id: 4\ndata: {"jsonrpc":"2.0","method":"notifications/last"}\n\n');
  answers.delete('GET');
});

it('the stream of an agent does not deliver a list', async () => {
  const agentId = await agentOf(app, [connectionId]);
  const path = gatewayPath(app, agentId);
  const asking = { ...INITIALIZE, capabilities: { sampling: {} } };
  const agentKey = await keyWith(app, { [agentId]: ['open'] });
  const { headers } = await callProxy(app, path, { key: agentKey, body: rpc('initialize', asking) });
  const text = `data: {"jsonrpc":"2.0","method":"notifications/message","result":${LIST},"params":{}}\n\ndata: {"jsonrpc":"2.0","id":null,"result":${LIST}}\n\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"last"}}\n\n`;
  answers.set(
    'GET',
    (_message, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text),
  );
  const stream = await openProxy(app, path, {
    method: 'GET',
    key: agentKey,
    headers: { 'mcp-session-id': String(headers['mcp-session-id']), accept: BOTH },
  });
  let seen = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    seen += chunk.toString('utf8');
    if (seen.includes('"last"')) break;
  }
  expect(seen).not.toContain('denied');
  answers.delete('GET');
});

it('a caller with `*` gets the bytes unchanged', async () => {
  const odd = (id: string): string =>
    `{ "jsonrpc":"2.0", "id":${id}, "result":{"tools":[],"Tools":${JSON.stringify([DENIED])}} }`;
  answers.set('tools/list', asJson(odd));
  const { text } = await callProxy(app, pathOf(app, connectionId), { key: app.apiKey, body: rpc('tools/list') });
  expect(text).toBe(odd('1'));
  answers.delete('tools/list');
});

/** The messages that a reader finds that treats every Unicode line end as a line end. */
function readAsLinesOfAnyKind(text: string): { id?: unknown; result?: unknown }[] {
  return text.split(/[\r\n\u0085\u2028\u2029]/).flatMap((line) => {
    const json = line.slice(line.indexOf('data:') + 'data:'.length);
    if (!line.includes('data:')) return [];
    try {
      return [JSON.parse(json)].flat() as { id?: unknown; result?: unknown }[];
    } catch {
      return [];
    }
  });
}
