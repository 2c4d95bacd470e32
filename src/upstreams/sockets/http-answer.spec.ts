import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { Agent } from 'undici';
import { GATHERED_BYTES } from '../messages/answer-body.js';
import { HttpAnswerReader, type HttpAnswer } from './http-answer.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const SSE_TYPE = { 'content-type': 'text/event-stream; charset=utf-8' };

let server: Server;
let origin: string;
let agent: Agent;
const agents: Agent[] = [];
let answerWith: (response: ServerResponse) => unknown;

beforeAll(async () => {
  server = createServer((_request, response) => void answerWith(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  await Promise.all(agents.splice(0).map((one) => one.destroy()));
});
afterAll(() => void server.close());

function request(script: typeof answerWith, signal = new AbortController().signal): Promise<HttpAnswer> {
  answerWith = script;
  agent = new Agent({ connections: 1 });
  agents.push(agent);
  return requestAgain(signal);
}

function requestAgain(signal = new AbortController().signal): Promise<HttpAnswer> {
  const reader = new HttpAnswerReader({ signal });
  agent.dispatch({ origin, path: '/', method: 'GET' }, reader);
  return reader.answer;
}

function streamOf({ body }: HttpAnswer): Readable {
  if (!(body instanceof Readable)) throw new Error('The body was buffered.');
  return body;
}

describe('HttpAnswerReader', () => {
  it('buffers a small body', async () => {
    const { status, headers, body } = await request((response) => {
      response.writeHead(201, JSON_TYPE).write('{"a":');
      setTimeout(() => response.end('1}'), 20);
    });
    expect([status, headers['content-type'], String(body)]).toEqual([201, 'application/json', '{"a":1}']);
  });

  it('returns an empty buffer without a body', async () => {
    expect((await request((response) => response.writeHead(204).end())).body).toHaveLength(0);
  });

  it('streams a large body completely', async () => {
    const text = 'x'.repeat(50 * GATHERED_BYTES);
    const body = streamOf(await request((response) => response.writeHead(200, JSON_TYPE).end(text)));
    expect(Buffer.concat((await body.toArray()) as Buffer[]).toString()).toBe(text);
  });

  it('streams an event stream from its first byte', async () => {
    const body = streamOf(await request((response) => response.writeHead(200, SSE_TYPE).flushHeaders()));
    body.destroy();
  });

  it('ignores 1xx answers', async () => {
    const { status } = await request((response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.writeHead(200, JSON_TYPE).end('{}');
    });
    expect(status).toBe(200);
  });

  it('delivers the received bytes of a broken body before the error', async () => {
    const body = streamOf(
      await request((response) => {
        response.writeHead(200, { ...JSON_TYPE, 'content-length': '100' }).write('{"a":1');
        setTimeout(() => response.destroy(), 20);
      }),
    );
    const chunks: unknown[] = [];
    await expect(
      (async () => {
        for await (const chunk of body) chunks.push(chunk);
      })(),
    ).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
    expect(chunks.join('')).toBe('{"a":1');
  });

  it('fails without an answer', async () => {
    await expect(request((response) => response.destroy())).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
  });

  it.each([
    ['before the answer', () => undefined],
    ['in a body that is buffered', (response: ServerResponse) => response.writeHead(200, JSON_TYPE).write('{')],
  ])('rejects when it is aborted: %s', async (_when, script) => {
    const abort = new AbortController();
    const answer = request((response) => {
      script(response);
      setTimeout(() => abort.abort(), 20);
    }, abort.signal);
    const failed = answer.then((given) => streamOf(given).toArray());
    await expect(failed).rejects.toMatchObject({ code: 'UND_ERR_ABORTED' });
  });

  it('ends the stream and the connection when it is aborted', async () => {
    const abort = new AbortController();
    const closed = Promise.withResolvers<void>();
    const answer = await request((response) => {
      response.on('close', closed.resolve);
      response.writeHead(200, SSE_TYPE).write('data: 1\n\n');
    }, abort.signal);
    abort.abort();
    await expect(streamOf(answer).toArray()).rejects.toMatchObject({ code: 'UND_ERR_ABORTED' });
    await closed.promise;
  });

  it('closes the connection when the stream is destroyed', async () => {
    const closed = Promise.withResolvers<void>();
    const answer = await request((response) => {
      response.on('close', closed.resolve);
      response.writeHead(200, SSE_TYPE).write('data: 1\n\n');
    });
    streamOf(answer).destroy();
    await closed.promise;
  });

  it('stops waiting for a connection when it is aborted', async () => {
    const held = await request((response) => response.writeHead(200, SSE_TYPE).flushHeaders());
    const abort = new AbortController();
    const waiting = requestAgain(abort.signal);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'UND_ERR_ABORTED' });
    streamOf(held).destroy();
    await expect(requestAgain(AbortSignal.abort())).rejects.toMatchObject({ code: 'UND_ERR_ABORTED' });
  });

  it('applies backpressure', async () => {
    let sent = 0;
    const answer = await request((response) => {
      response.writeHead(200, SSE_TYPE);
      const piece = Buffer.alloc(64 * 1024, 'x');
      const more = (): void => {
        while (!response.destroyed && response.write(piece)) sent += piece.length;
      };
      response.on('drain', more);
      more();
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    streamOf(answer).destroy();
  });

  describe('a body that ends with its connection', () => {
    const TYPE = 'content-type: text/event-stream\r\n';
    const FORMS: [name: string, header: (length: number) => string][] = [
      ['a close-delimited event stream', () => `HTTP/1.1 200 OK\r\n${TYPE}connection: close\r\n\r\n`],
      ['HTTP/1.0', () => `HTTP/1.0 200 OK\r\n${TYPE}\r\n`],
      [
        'a length and `Connection: close`',
        (length) => `HTTP/1.1 200 OK\r\n${TYPE}connection: close\r\ncontent-length: ${length}\r\n\r\n`,
      ],
    ];

    /** Answers with raw bytes. Returns the body and the upstream's end of the connection. */
    async function requestRaw(bytes: string): Promise<{ body: Readable; socket: Socket }> {
      const sockets: Socket[] = [];
      const answer = await request((response) => {
        const socket = response.socket as Socket;
        sockets.push(socket.on('error', () => undefined));
        socket.end(bytes);
      });
      return { body: streamOf(answer), socket: sockets[0] as Socket };
    }

    it.each(FORMS)('is delivered completely to a slow reader: %s', async (_name, header) => {
      // The sizes cover all alignments of the last piece with the reader's buffer.
      for (let size = 32 * 1024; size <= 288 * 1024; size += 32 * 1024) {
        const { body, socket } = await requestRaw(header(size) + 'x'.repeat(size));
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect(Buffer.concat((await body.toArray()) as Buffer[])).toHaveLength(size);
        socket.destroy();
      }
    });
  });
});
