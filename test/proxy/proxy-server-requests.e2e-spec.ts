import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { modernRequest } from '../support/era-clients.js';
import {
  callProxy,
  eventsOf,
  pathOf,
  type ProxyAnswer,
  rpcOf,
  TAKES_JSON,
  TAKES_STREAMS,
  toolCall,
} from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendResult,
  SSE_TYPE,
  startScripted,
} from '../support/scripted-upstream.js';
import { newTenant } from '../support/tenant.js';
import { useStarted } from '../support/use-started.js';

/** The upstream sends this many at once, and may wait for as many answers as are sent at a time. */
const MANY = 100;
const ANSWERED_AT_LEAST = 16;
/** What a client is asked at a time. */
const MAX_ASKED = 8;
const SCHEMA = { type: 'object' };

type Answer = RpcMessage & { result?: object; error?: { code: number } };

const app = useStarted(newTenant);
let upstream: ScriptedServer;
let connectionId: string;
/** What the service answered to the requests of the upstream, in their order. */
let answers: Answer[];
let onAnswer: () => void;

/** A server that asks during its calls although no client has declared that it answers, and waits for the answers. */
const asking = legacyServer(async ({ message }, response) => {
  if (message.method === 'tools/list') {
    sendResult(response, message, {
      tools: ['elicit', 'ping', 'flood'].map((name) => ({ name, inputSchema: SCHEMA })),
    });
    return;
  }
  response.writeHead(200, SSE_TYPE);
  const kind = String(message.params?.['name']);
  const awaited = kind === 'flood' ? ANSWERED_AT_LEAST : 1;
  const enough = new Promise<void>((resolve) => {
    onAnswer = () => answers.length >= awaited && resolve();
  });
  for (let n = 0; n < (kind === 'flood' ? MANY : 1); n++) {
    const method = kind === 'ping' ? 'ping' : 'elicitation/create';
    send(response, { jsonrpc: '2.0', id: `${kind}-${n}`, method, params: { message: 'Which one?' } });
  }
  await Promise.race([enough, once(response, 'close')]);
  const text = JSON.stringify(answers[0]?.error?.code ?? answers[0]?.result);
  send(response, { jsonrpc: '2.0', id: message.id, result: { content: [{ type: 'text', text }] } });
  response.end();
});

function send(response: ServerResponse, message: object): void {
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

beforeAll(async () => {
  upstream = await startScripted((request, response) => {
    const answer: Answer = request.message;
    if (answer.method !== undefined || answer.id === undefined) return asking.script(request, response);
    answers.push(answer);
    onAnswer();
    response.writeHead(202).end();
    return undefined;
  });
  connectionId = await connectTo(app, upstream.url);
});
beforeEach(() => {
  answers = [];
});
afterAll(async () => {
  await upstream?.close();
});

const resultOf = (answer: ProxyAnswer) =>
  (answer.text.startsWith('{') ? [rpcOf(answer)] : eventsOf(answer)).at(-1)?.result;

const modernCall = (name: string, capabilities = {}) =>
  modernRequest('tools/call', { name, arguments: {} }, { capabilities });

describe('a request of an upstream in a session that the service has opened', () => {
  it.each([
    ['a modern client that declares no elicitation', () => modernCall('elicit', { sampling: {} })],
    ['a client without a session', () => ({ headers: TAKES_STREAMS, body: toolCall('elicit') })],
    ['a client that accepts only JSON', () => ({ headers: TAKES_JSON, body: toolCall('elicit') })],
  ])('is refused, so that the call of %s ends', async (_client, request) => {
    const answer = await callProxy(app, pathOf(app, connectionId), { key: app.apiKey, ...request() });
    expect(resultOf(answer)).toMatchObject({ content: [{ text: '-32601' }] });
    expect(answer.text).not.toContain('elicitation/create');
    expect(answers).toMatchObject([{ id: 'elicit-0', error: { code: -32601 } }]);
  });

  it('is refused during the call of a client that may not call every tool', async () => {
    const key = await keyWith(app, { [connectionId]: ['elicit'] });
    const answer = await callProxy(app, pathOf(app, connectionId), { key, ...modernCall('elicit') });
    expect(resultOf(answer)).toMatchObject({ content: [{ text: '-32601' }] });
  });

  it('is answered if it is a ping', async () => {
    const answer = await callProxy(app, pathOf(app, connectionId), { key: app.apiKey, ...modernCall('ping') });
    expect(resultOf(answer)).toMatchObject({ content: [{ text: '{}' }] });
  });

  it('is one of a few that are answered at a time', async () => {
    const answer = await callProxy(app, pathOf(app, connectionId), { key: app.apiKey, ...modernCall('flood') });
    expect(resultOf(answer)).toMatchObject({ content: [{ text: '-32601' }] });
    expect(answers.length).toBeGreaterThanOrEqual(ANSWERED_AT_LEAST);
    expect(answers.length).toBeLessThan(MANY);
  });

  it('is one of a few that a modern client is asked at a time', async () => {
    const request = modernCall('flood', { elicitation: {} });
    const answer = await callProxy(app, pathOf(app, connectionId), { key: app.apiKey, ...request });
    expect(Object.keys(resultOf(answer)?.['inputRequests'] as object)).toHaveLength(MAX_ASKED);
    expect(answers.every(({ error }) => error?.code === -32601)).toBe(true);
  });
});
