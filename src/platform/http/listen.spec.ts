import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Fastify, { type FastifyInstance } from 'fastify';
import { request } from 'undici';
import { listenWidely } from './listen.js';

const HOST = '127.0.0.1';
const CONNECTIONS = 64;

let fastify: FastifyInstance;
beforeEach(() => {
  fastify = Fastify({ forceCloseConnections: true });
  fastify.get('/', () => 'here');
});
afterEach(() => fastify.close());

const listen = (port = 0): Promise<void> =>
  listenWidely(fastify, { port, host: HOST }, (options) => fastify.listen(options));
const portOf = (): number => (fastify.server.address() as AddressInfo).port;

describe('listenWidely', () => {
  // Elsewhere one socket listens, as before.
  (process.platform === 'linux' ? it : it.skip)(
    'accepts several connections in one turn of the event loop',
    async () => {
      await listen();
      const state = { accepted: 0 };
      fastify.server.on('connection', () => state.accepted++);
      // The kernel has made all of them before the process takes the first one.
      const sockets = Array.from({ length: CONNECTIONS }, () => connect(portOf(), HOST));
      let turns = 0;
      for (; state.accepted < CONNECTIONS; turns++) await nextTurn();
      expect(turns).toBeLessThan(CONNECTIONS / 2);
      for (const socket of sockets) socket.destroy();
    },
  );

  it('serves a connection of each socket, and closes all of them', async () => {
    await listen();
    const url = `http://${HOST}:${portOf()}/`;
    const answers = await Promise.all(Array.from({ length: CONNECTIONS }, () => request(url, { reset: true })));
    expect(new Set(await Promise.all(answers.map(({ body }) => body.text())))).toEqual(new Set(['here']));
    const port = portOf();
    await fastify.close();
    const next = createServer().listen(port, HOST);
    await once(next, 'listening');
    next.close();
  });

  it('refuses a port that another service listens on', async () => {
    await listen();
    const port = portOf();
    const second = Fastify();
    const taking = listenWidely(second, { port, host: HOST }, (options) => second.listen(options));
    await expect(taking).rejects.toMatchObject({ code: 'EADDRINUSE', port });
    await second.close();
  });

  (process.platform === 'linux' ? it : it.skip)(
    'refuses a port that another service is about to listen on',
    async () => {
      const probe = createServer().listen(0, HOST);
      await once(probe, 'listening');
      const { port } = probe.address() as AddressInfo;
      await once(probe.close(), 'close');
      const second = Fastify();
      const listenAsSecond = (): Promise<void> =>
        listenWidely(second, { port, host: HOST }, (options) => second.listen(options));
      await listenWidely(fastify, { port, host: HOST }, async (options) => {
        await expect(listenAsSecond()).rejects.toMatchObject({ code: 'EADDRINUSE', port });
        return fastify.listen(options);
      });
      await fastify.close();
      await listenAsSecond();
      await second.close();
    },
  );
});
