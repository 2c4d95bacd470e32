import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, request as openRequest, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { AnonymousConnections } from './anonymous-connections.js';
import { Peers } from './peers.js';
import { slotOf, withoutSlot, withSlot } from './session-slots.js';

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

let folder: string;
let services: FastifyInstance[];
/** What the handler of each process does. */
let handlers: Handler[];
let connections: AnonymousConnections[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-peers-'));
  services = [];
  connections = [];
  handlers = [1, 2].map((slot) => (request: FastifyRequest) => ({ slot, body: request.body, ip: request.ip }));
  for (const number of [1, 2]) {
    const peers = new Peers({ number, folder }, pino({ level: 'silent' }));
    const fastify = Fastify({
      serverFactory: (handler: RequestListener) => peers.createServer(handler, {}),
      forceCloseConnections: true,
    });
    const anonymous = new AnonymousConnections(8);
    anonymous.watch(fastify.server);
    fastify.all('/', (request, reply) => handlers[number - 1]?.(request, reply));
    await peers.serveOn(fastify, anonymous);
    await fastify.listen({ port: 0, host: '127.0.0.1' });
    services.push(fastify);
    connections.push(anonymous);
  }
});

afterEach(async () => {
  await Promise.all(services.map((service) => service.close()));
  await rm(folder, { recursive: true });
});

/** Sends a request to process 1, on a connection of its own. */
async function send(
  session: string | undefined,
  { method = 'POST', body, headers = {} }: { method?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<IncomingMessage> {
  const address = services[0]?.server.address() as AddressInfo;
  const request = openRequest({
    port: address.port,
    host: '127.0.0.1',
    maxHeaderSize: 32 * 1024,
    method,
    agent: false,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(session !== undefined && { 'mcp-session-id': session }),
      ...headers,
    },
  }).end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

/** Sends a request to process 1 after which it closes the connection, and returns all that it answers. */
async function sendRaw(bytes: string): Promise<string> {
  const address = services[0]?.server.address() as AddressInfo;
  const socket = connect(address.port, '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}

async function answerTo(...request: Parameters<typeof send>): Promise<unknown> {
  return JSON.parse(await text(await send(...request)));
}

describe('a request', () => {
  it('of a session of another process is answered there, with its body and the address of the caller', async () => {
    expect(await answerTo('p2.session', { body: '{"a":1}' })).toEqual({ slot: 2, body: { a: 1 }, ip: '127.0.0.1' });
    const headers = { 'transfer-encoding': 'chunked' };
    expect(await answerTo('p2.session', { body: '[1]', headers })).toMatchObject({ slot: 2, body: [1] });
    expect(await answerTo('p2.session', { method: 'GET' })).toMatchObject({ slot: 2 });
  });

  it('without a session, or of one that any process can continue, is answered where it arrives', async () => {
    for (const session of [undefined, 'p1.session', 'session', 'p2', '']) {
      expect(await answerTo(session, { body: '{}' })).toMatchObject({ slot: 1 });
    }
  });

  it('cannot name another address than that of its caller', async () => {
    const headers = { 'signalbox-caller-address': '192.0.2.1' };
    expect(await answerTo('p2.session', { headers })).toMatchObject({ slot: 2, ip: '127.0.0.1' });
    expect(await answerTo(undefined, { headers })).toMatchObject({ slot: 1, ip: '127.0.0.1' });
  });

  it('with thousands of headers is passed on with its body', async () => {
    const head = `POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\nmcp-session-id: p2.a\r\n${'a:\r\n'.repeat(2000)}`;
    const answer = await sendRaw(`${head}content-type: application/json\r\ncontent-length: 7\r\n\r\n{"a":1}`);
    expect(answer).toContain('{"slot":2,"body":{"a":1},"ip":"127.0.0.1"}');
  });

  it('of HTTP/1.0 needs no Host', async () => {
    expect(await sendRaw('GET / HTTP/1.0\r\nmcp-session-id: p2.a\r\n\r\n')).toContain('{"slot":2,');
  });

  it('can be answered with long headers', async () => {
    handlers[1] = (_request, reply) => reply.header('long', 'a'.repeat(20_000)).send('whole');
    const response = await send('p2.session');
    expect([response.headers['long']?.length, await text(response)]).toEqual([20_000, 'whole']);
  });

  it('of a session whose process does not run is answered where it arrives, with its body', async () => {
    await services[1]?.close();
    expect(await answerTo('p2.session', { body: '{"a":1}' })).toMatchObject({ slot: 1, body: { a: 1 } });
    expect(await answerTo('p63.session', { body: '{"a":1}' })).toMatchObject({ slot: 1, body: { a: 1 } });
  });

  it('is aborted in the other process when its caller disconnects, and its answer streams', async () => {
    const closed = Promise.withResolvers<void>();
    handlers[1] = (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      reply.raw.once('close', () => closed.resolve());
    };
    const response = await send('p2.session');
    expect(response.headers['content-type']).toBe('text/event-stream');
    const [chunk] = (await once(response, 'data')) as [Buffer];
    expect(chunk.toString()).toBe('data: 1\n\n');
    response.destroy();
    await closed.promise;
  });

  it('breaks off for its caller when the other process breaks it off', async () => {
    handlers[1] = (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200).write('begun');
      setImmediate(() => reply.raw.destroy());
    };
    await expect(text(await send('p2.session'))).rejects.toThrow('aborted');
  });

  it('without a credential keeps its connection open where it arrives, once the other process works on it', async () => {
    const answered = Promise.withResolvers<void>();
    const kept = new Promise<void>((resolve) => {
      const [first] = connections;
      const keepOpen = first?.keepOpen.bind(first);
      if (first !== undefined && keepOpen !== undefined) {
        first.keepOpen = (socket, response) => {
          keepOpen(socket, response);
          resolve();
        };
      }
    });
    handlers[1] = async (request, reply) => {
      connections[1]?.work(request.raw.socket, reply.raw);
      await answered.promise;
      return { slot: 2 };
    };
    const answer = answerTo('p2.session');
    await kept;
    answered.resolve();
    expect(await answer).toEqual({ slot: 2 });
  });

  it('counts as one with a verified credential where it arrives, once the other process has verified it', async () => {
    const answered = Promise.withResolvers<void>();
    const admitted = new Promise<void>((resolve) => {
      const [first] = connections;
      const admit = first?.admitConnection.bind(first);
      if (first !== undefined && admit !== undefined) {
        first.admitConnection = (socket) => {
          admit(socket);
          resolve();
        };
      }
    });
    handlers[1] = async (request) => {
      connections[1]?.admitConnection(request.raw.socket);
      await answered.promise;
      return { slot: 2 };
    };
    const answer = answerTo('p2.session');
    await admitted;
    answered.resolve();
    expect(await answer).toEqual({ slot: 2 });
  });
});

it('names the process of a session in its id', () => {
  const id = withSlot('v1.key.a.b.c', 12);
  expect([id, slotOf(id), withoutSlot(id)]).toEqual(['p12.v1.key.a.b.c', 12, 'v1.key.a.b.c']);
  expect([slotOf('v1.key.a.b.c'), withoutSlot('v1.key.a.b.c')]).toEqual([undefined, 'v1.key.a.b.c']);
});
