import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant, type Tenant } from '../support/tenant.js';
import {
  answerText,
  type AnswerScript,
  type ProxiedUpstream,
  RESULT,
  startProxiedUpstream,
} from '../support/proxied-upstream.js';
import { errorIn, rpcOf, TAKES_JSON, TAKES_STREAMS } from '../support/proxy-calls.js';
import { auditOf } from '../support/proxy-connections.js';
import { JSON_TYPE, SSE_TYPE } from '../support/scripted-upstream.js';

let proxied: ProxiedUpstream;
let app: Tenant;

beforeAll(async () => {
  proxied = await startProxiedUpstream(newTenant);
  ({ app } = proxied);
});
afterAll(() => proxied?.close());

describe('the form of the answer', () => {
  const progress = (token: string): string =>
    `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"${token}","progress":1}}\n\n`;

  it('is one JSON body for a caller that does not accept a stream', async () => {
    const answer = await proxied.calledWith((response, message) => {
      response.writeHead(200, SSE_TYPE);
      response.end(`: hello\n\n${progress('a')}event: message\r\nid: 7\r\ndata: ${answerText(message)}\r\n\r\n`);
    });
    expect(answer.headers['content-type']).toMatch(/^application\/json\b/);
    expect(rpcOf(answer)).toEqual({ jsonrpc: '2.0', id: 1, result: RESULT });
  });

  it('is a stream for a caller that accepts one, notifications first', async () => {
    const script: AnswerScript = (response, message) =>
      response.writeHead(200, SSE_TYPE).end(`${progress('a')}data: ${answerText(message)}\n\n`);
    const answer = await proxied.calledWith(script, {}, TAKES_STREAMS);
    expect(answer.headers['content-type']).toBe('text/event-stream');
    expect(answer.text).toMatch(/notifications\/progress[^]*"id":1,"result"/);
  });

  it('keeps an answer with several data lines', async () => {
    const script: AnswerScript = (response, message) => {
      const lines = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: RESULT }, null, 1).split('\n');
      response.writeHead(200, SSE_TYPE).end(`${lines.map((line) => `data: ${line}`).join('\n')}\n\n`);
    };
    const { text } = await proxied.calledWith(script, {}, TAKES_STREAMS);
    const data = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
    expect(JSON.parse(data.join('\n'))).toEqual({ jsonrpc: '2.0', id: 1, result: RESULT });
  });

  it.each([
    ['one JSON body', TAKES_JSON],
    ['a stream', TAKES_STREAMS],
  ])('is not a message that only mentions the request (%s)', async (_form, accepted) => {
    const script: AnswerScript = (response, message) => {
      const data = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: message.id } };
      response.writeHead(200, SSE_TYPE).write(`data: ${JSON.stringify(data)}\n\n`);
      response.end(`data: ${answerText(message)}\n\n`);
    };
    const { text } = await proxied.calledWith(script, {}, accepted);
    expect(text).toContain('"text":"fine"');
    expect(text).not.toContain('sbx-');
  });

  it.each(['\n', '\r\n'])('can be an event of a megabyte, with line ends %j', async (end) => {
    const long = 'x'.repeat(1_000_000);
    const script: AnswerScript = (response, { id }) => {
      const result = { content: [{ type: 'text', text: long }] };
      const data = JSON.stringify({ result, jsonrpc: '2.0', id });
      response.writeHead(200, SSE_TYPE).end(`event: message${end}data: ${data}${end}${end}`);
    };
    const answer = await proxied.calledWith(script, {}, TAKES_STREAMS);
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
  ])('is not the large answer to another request, with its id %s', async (_place, foreign, said) => {
    const withMention = (id: unknown): string => JSON.stringify({ mentioned: id, ...foreign });
    const json: AnswerScript = (response, { id }) => response.writeHead(200, JSON_TYPE).end(withMention(id));
    const answer = proxied.calledWith(json, {}, TAKES_STREAMS).then(
      ({ text }) => text,
      () => 'broken off',
    );
    expect(await answer).toMatch(said);
    const events: AnswerScript = (response, { id }) =>
      response.writeHead(200, SSE_TYPE).end(`data: ${withMention(id)}\n\n`);
    const { text } = await proxied.calledWith(events, {}, TAKES_STREAMS);
    expect(text).toContain('"code":"upstream_protocol"');
    expect(text).not.toMatch(/"id":2\}/);
  });

  it('ends with an error when it breaks off in the middle of such an event', async () => {
    const script: AnswerScript = (response, { id }) => {
      response.writeHead(200, SSE_TYPE).write(`data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"x":"`);
      response.write('x'.repeat(200_000));
      setTimeout(() => response.destroy(), 200);
    };
    const answer = await proxied.calledWith(script, {}, TAKES_STREAMS);
    expect(errorIn(answer)?.data.code).toBe('upstream_unreachable');
  });
});
