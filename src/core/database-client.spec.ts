import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../platform/database/data-source-options.js';
import { DatabaseClient } from './database-client.js';

/**
 * A PostgreSQL that says in one breath that it is ready and that it goes down, as one that crashes at that moment does.
 */
let server: Server;
let url: string;

beforeAll(async () => {
  const authenticated = message('R', Buffer.from([0, 0, 0, 0]));
  const ready = message('Z', Buffer.from('I'));
  const fatal = message('E', Buffer.from('SFATAL\0C57P02\0Mterminating connection because of crash\0\0'));
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([authenticated, ready, fatal])));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `postgres://user:password@127.0.0.1:${(server.address() as AddressInfo).port}/database?sslmode=disable`;
});

afterAll(() => {
  server.close();
});

describe('a server that goes down while a connection is handed out', () => {
  it('rejects the call of the data source, and does not end the process', async () => {
    const dataSource = new DataSource(dataSourceOptions(url));
    await expect(dataSource.initialize()).rejects.toThrow();
  });

  it('rejects the query of a pool, and does not end the process', async () => {
    const pool = new Pool({ connectionString: url, Client: DatabaseClient });
    pool.on('error', () => undefined);
    for (let round = 0; round < 5; round++) {
      const client = await pool.connect();
      // As BullMQ does: its listener comes later.
      await new Promise(setImmediate);
      await expect(client.query('SELECT 1')).rejects.toThrow();
      client.release(true);
    }
    await pool.end();
  });
});

function message(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + content.length, 1);
  return Buffer.concat([head, content]);
}
