import { once } from 'node:events';
import { type IncomingMessage, request as openRequest } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  legacyServer,
  type Script,
  type ScriptedServer,
  sendResult,
  SSE_TYPE,
  startScripted,
} from '../support/scripted-upstream.js';
import { RawConnection, requestText } from '../support/raw-http.js';
import { type HostileTarget, startHostileTarget } from './harness.js';
import { eventually } from '../support/eventually.js';

const TOOLS = [{ name: 'attack', inputSchema: { type: 'object' } }];
const TAKES_STREAMS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
const KIB = 1024;

/** Upstreams that end connections or hold them, and callers who do not read or listen without end. */
describe('hostile upstreams', () => {
  let target: HostileTarget;
  let upstream: ScriptedServer;
  let answer: Script;

  beforeAll(async () => {
    target = await startHostileTarget();
    const { script } = legacyServer((request, response) =>
      request.message.method === 'tools/list'
        ? sendResult(response, request.message, { tools: TOOLS })
        : answer(request, response),
    );
    upstream = await startScripted((request, response) => {
      if (request.method !== 'GET') return script(request, response);
      return void response.writeHead(200, SSE_TYPE).write(': listening\n\n');
    });
  }, 60_000);

  afterAll(async () => {
    await target.close();
    await upstream.close();
  });

  /** Makes a connection, so that no test sees the breaker that another one has opened; returns its path. */
  async function connected(): Promise<string> {
    const data = { title: 'Hostile', connection_type: 'HTTP', connection_url: upstream.url };
    const { body } = await target.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    return `/api/default/mcp/${(body as { item: { id: string } }).item.id}`;
  }

  async function send(path: string, method: string, message?: object, more: object = {}): Promise<IncomingMessage> {
    const headers = { ...TAKES_STREAMS, authorization: `Bearer ${target.apiKey}`, ...more };
    const request = openRequest(target.url + path, { method, headers, agent: false });
    request.end(message && JSON.stringify(message));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response.on('error', () => undefined);
  }

  const call = (path: string, more: object = {}): Promise<IncomingMessage> => {
    const params = { name: 'attack', arguments: {} };
    return send(path, 'POST', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, more);
  };

  /** A call as text, behind which another one may follow on the same connection. */
  function pipelined(path: string): string {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'attack', arguments: {} } };
    const body = JSON.stringify(message);
    const headers = { ...TAKES_STREAMS, authorization: `Bearer ${target.apiKey}`, 'content-length': body.length };
    return requestText('POST', path, headers, body);
  }

  it.each([
    ['a close-delimited body', () => 'HTTP/1.1 200 OK\r\nconnection: close\r\n'],
    ['HTTP/1.0', () => 'HTTP/1.0 200 OK\r\n'],
    ['a length', (length: number) => `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${length}\r\n`],
  ])('may end the connection with an answer that nobody reads: %s', async (_form, head) => {
    const path = await connected();
    let calls = 0;
    answer = ({ message }, response) => {
      const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [] } });
      if (calls++ % 2 === 0) {
        setTimeout(() => response.writeHead(200, SSE_TYPE).end(`data: ${text}\n\n`), 500);
        return;
      }
      // More than is buffered on the way; what is left for the end differs. Comments would not be passed on.
      const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(KIB) } };
      const body = `${`data: ${JSON.stringify(log)}\n\n`.repeat(96 + calls * 8)}data: ${text}\n\n`;
      const socket = response.socket as Socket;
      socket.on('error', () => undefined).end(`${head(body.length)}content-type: text/event-stream\r\n\r\n${body}`);
    };
    await target.withstands(async () => {
      for (let i = 0; i < 32; i++) {
        // Nothing of the second answer can be sent before the first one.
        const connection = await RawConnection.open(target.url);
        const before = upstream.calls('tools/call').length;
        for (let sent = 1; sent <= 2; sent++) {
          connection.send(pipelined(path));
          await eventually(() => expect(upstream.calls('tools/call').length).toBeGreaterThanOrEqual(before + sent));
        }
        await connection.until(/HTTP\/1\.1 200[^]*HTTP\/1\.1 200[^]*"result"[^]*0\r\n\r\n$/);
        connection.close();
      }
    });
  });

  it('may hold all calls and streams of one caller', async () => {
    const path = await connected();
    let isHanging = false;
    answer = ({ message }, response) => {
      if (!isHanging) sendResult(response, message, { content: [] });
    };
    const created = await target.tool('API_KEY_CREATE', { name: 'other', permissions: { '*': ['*'] } });
    const other = { authorization: `Bearer ${(created.body as { key: string }).key}` };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const opening = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
    const session = await send(path, 'POST', opening);
    const listening = { 'mcp-session-id': String(session.headers['mcp-session-id']) };
    session.resume();

    await target.withstands(async () => {
      const streams = await Promise.all(Array.from({ length: 160 }, () => send(path, 'GET', undefined, listening)));
      isHanging = true;
      const held: IncomingMessage[] = [];
      const hanging = Array.from({ length: 160 }, () => call(path).then((response) => held.push(response)));
      await sleep(1_000);
      isHanging = false;
      const answered = await call(path, other);
      expect(answered.statusCode).toBe(200);
      for (const response of [...streams, answered]) response.destroy();
      await Promise.race(hanging);
      for (const response of held) response.destroy();
    });
  });

  it('may never end their answers', async () => {
    const path = await connected();
    answer = ({ message }, response) => {
      const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [] } });
      response.writeHead(200, SSE_TYPE).write(`data: ${text}\n\n`);
    };
    await target.withstands(async () => {
      for (let round = 0; round < 20; round++) {
        const responses = await Promise.all(Array.from({ length: 16 }, () => call(path)));
        for (const response of responses) {
          response.resume();
          if (!response.closed) await once(response, 'close');
          expect(response.statusCode).toBe(200);
        }
      }
    });
  });
});
