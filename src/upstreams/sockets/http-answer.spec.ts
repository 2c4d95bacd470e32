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

function ask(script: typeof answerWith, signal = new AbortController().signal): Promise<HttpAnswer> {
  answerWith = script;
  agent = new Agent({ connections: 1 });
  agents.push(agent);
  return askAgain(signal);
}

function askAgain(signal = new AbortController().signal): Promise<HttpAnswer> {
  const reader = new HttpAnswerReader({ signal });
  agent.dispatch({ origin, path: '/', method: 'GET' }, reader);
  return reader.answer;
}

function streamOf({ body }: HttpAnswer): Readable {
  if (!(body instanceof Readable)) throw new Error('The body came as a whole.');
  return body;
}

describe('HttpAnswerReader', () => {
  it('waits for the whole of a small body', async () => {
    const { status, headers, body } = await ask((response) => {
      response.writeHead(201, JSON_TYPE).write('{"a":');
      setTimeout(() => response.end('1}'), 20);
    });
    expect([status, headers['content-type'], String(body)]).toEqual([201, 'application/json', '{"a":1}']);
  });

  it('gives an empty body where there is none', async () => {
    expect((await ask((response) => response.writeHead(204).end())).body).toHaveLength(0);
  });

  it('hands a large body over as it comes, every byte of it', async () => {
    const text = 'x'.repeat(50 * GATHERED_BYTES);
    const body = streamOf(await ask((response) => response.writeHead(200, JSON_TYPE).end(text)));
    expect(Buffer.concat((await body.toArray()) as Buffer[]).toString()).toBe(text);
  });

  it('hands an event stream over as it begins', async () => {
    const body = streamOf(await ask((response) => response.writeHead(200, SSE_TYPE).flushHeaders()));
    body.destroy();
  });

  it('does not take 1xx for the answer', async () => {
    const { status } = await ask((response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.writeHead(200, JSON_TYPE).end('{}');
    });
    expect(status).toBe(200);
  });

  it('lets what came be read before it says that the body broke off', async () => {
    const body = streamOf(
      await ask((response) => {
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

  it('fails when nothing came', async () => {
    await expect(ask((response) => response.destroy())).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
  });

  it.each([
    ['before the answer', () => undefined],
    ['in a body that is gathered', (response: ServerResponse) => response.writeHead(200, JSON_TYPE).write('{')],
  ])('gives up when it is told to: %s', async (_when, script) => {
    const abort = new AbortController();
    const answer = ask((response) => {
      script(response);
      setTimeout(() => abort.abort(), 20);
    }, abort.signal);
    const failed = answer.then((given) => streamOf(given).toArray());
    await expect(failed).rejects.toMatchObject({ code: 'UND_ERR_ABORTED' });
  });

  it('ends the stream when it is told to, and the connection with it', async () => {
    const abort = new AbortController();
    const closed = Promise.withResolvers<void>();
    const answer = await ask((response) => {
      response.on('close', closed.resolve);
      response.writeHead(200, SSE_TYPE).write('data: 1\n\n');
    }, abort.signal);
    abort.abort();
    await expect(streamOf(answer).toArray()).rejects.toMatchObject({ code: 'UND_ERR_ABORTED' });
    await closed.promise;
  });

  it('lets go of the connection when nobody wants the rest', async () => {
    const closed = Promise.withResolvers<void>();
    const answer = await ask((response) => {
      response.on('close', closed.resolve);
      response.writeHead(200, SSE_TYPE).write('data: 1\n\n');
    });
    streamOf(answer).destroy();
    await closed.promise;
  });

  it('does not wait for a connection that others hold once it is told to give up', async () => {
    const held = await ask((response) => response.writeHead(200, SSE_TYPE).flushHeaders());
    const abort = new AbortController();
    const waiting = askAgain(abort.signal);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'UND_ERR_ABORTED' });
    streamOf(held).destroy();
    await expect(askAgain(AbortSignal.abort())).rejects.toMatchObject({ code: 'UND_ERR_ABORTED' });
  });

  it('reads no faster than the reader', async () => {
    let sent = 0;
    const answer = await ask((response) => {
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

    /** Answers with raw bytes; the body, and the upstream's end of the connection. */
    async function askRaw(bytes: string): Promise<{ body: Readable; socket: Socket }> {
      const sockets: Socket[] = [];
      const answer = await ask((response) => {
        const socket = response.socket as Socket;
        sockets.push(socket.on('error', () => undefined));
        socket.end(bytes);
      });
      return { body: streamOf(answer), socket: sockets[0] as Socket };
    }

    it.each(FORMS)('comes whole to a reader that is slower: %s', async (_name, header) => {
      // The last piece fills what the reader is behind by, whatever the pieces are.
      for (let size = 32 * 1024; size <= 288 * 1024; size += 32 * 1024) {
        const { body, socket } = await askRaw(header(size) + 'x'.repeat(size));
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect(Buffer.concat((await body.toArray()) as Buffer[])).toHaveLength(size);
        socket.destroy();
      }
    });
  });
});
