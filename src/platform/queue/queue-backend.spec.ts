import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { PostgresQueueBackend } from 'bullmq';
import { openBackend, queueOptions } from './queue-backend.js';

const AUTHENTICATED = message('R', Buffer.from([0, 0, 0, 0]));
const READY = message('Z', Buffer.from('I'));
const GOING_DOWN = message(
  'E',
  Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
);

let server: Server;
afterEach(() => {
  server.close();
});

/** The backend of a worker on a fake PostgreSQL that calls `serve` for each connection. */
async function backendOn(serve: (socket: Socket) => void): Promise<PostgresQueueBackend> {
  server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => serve(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const databaseUrl = `postgres://user:password@127.0.0.1:${(server.address() as AddressInfo).port}/database`;
  const options = queueOptions({ databaseUrl, redis: undefined });
  const backend = openBackend('runs', options, { withBlockingConnection: true }) as unknown as PostgresQueueBackend;
  // As a queue does.
  backend.on('error', () => undefined);
  return backend;
}

describe('the connection on which a worker listens', () => {
  it('does not end the process when the server shuts down during its creation', async () => {
    const { connection } = await backendOn((socket) => socket.end(Buffer.concat([AUTHENTICATED, READY, GOING_DOWN])));
    const client = await connection.getListenClient();
    await expect(client.query('LISTEN jobs')).rejects.toThrow();
    await connection.close();
  });

  it('does not end the process when the server shuts down during its closing', async () => {
    const { connection } = await backendOn((socket) => {
      socket.write(Buffer.concat([AUTHENTICATED, READY]));
      socket.on('end', () => socket.end(GOING_DOWN));
    });
    await connection.getListenClient();
    await connection.close();
  });
});

function message(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + content.length, 1);
  return Buffer.concat([head, content]);
}
