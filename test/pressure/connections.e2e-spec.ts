import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import supertest from 'supertest';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { ServiceProcess } from '../support/service-process.js';
import { eventually } from '../support/eventually.js';

const IDLE = 2_500;
const READERS = 2_500;
const AT_ONCE = 100;
/** What a connection may cost the service, in KiB; measured are 25 to 30. */
const PER_CONNECTION_KIB = 100;
/** In the service, and in this process for the other ends. */
const DESCRIPTORS = IDLE + READERS + 1_000;
const RECOVERY_MS = 60_000;
/** For a busy machine: nothing here depends on its speed. */
jest.setTimeout(240_000);

// Node raises its limit to the hard one at its start.
const [, hardLimit = ''] = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
const isPossible = hardLimit === 'unlimited' || Number(hardLimit) >= DESCRIPTORS;
if (!isPossible) {
  process.stderr.write(`The limit of open files is ${hardLimit}: the test of 5,000 connections is left out.\n`);
}

(isPossible ? describe : describe.skip)('5,000 connections at once', () => {
  const apiKey = generateApiKey();
  const sockets = new Set<Client>();
  let database: TestDatabase;
  let service: ServiceProcess;
  let url: string;
  let agentId: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    service = new ServiceProcess({
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: generateEncryptionKey('pressure'),
      BOOTSTRAP_API_KEY: apiKey,
      LOG_LEVEL: 'error',
      // Connections count as unauthenticated until their first request is verified.
      MAX_UNAUTHENTICATED_CONNECTIONS: '4000',
      NODE_OPTIONS: '--max-old-space-size=512',
    });
    ({ url } = await service.listening());
    agentId = (await tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } }).expect(200)).body.item.id;
    const data = { id: 'read', title: 'Thread', virtual_mcp_id: agentId };
    await tool('COLLECTION_THREADS_CREATE', { data }).expect(200);
  });

  afterAll(async () => {
    for (const client of sockets) client.close();
    await service?.kill('SIGTERM');
    await database?.drop();
  });

  const post = (path: string, body: object): supertest.Test =>
    supertest(url).post(`/api/default/${path}`).set('authorization', `Bearer ${apiKey}`).send(body);
  const tool = (name: string, input: object = {}): supertest.Test => post(`tools/${name}`, input);

  /** Opens connections and sends the same request on each; resolves with those that were answered with 200. */
  async function openAll(count: number, path: string): Promise<Client[]> {
    const served: Client[] = [];
    for (let opened = 0; opened < count; opened += AT_ONCE) {
      const some = await Promise.all(Array.from({ length: AT_ONCE }, () => Client.open(url, path, apiKey)));
      for (const client of some) {
        sockets.add(client);
        // A refusal is clear, too.
        expect(client.head).toMatch(/^HTTP\/1\.1 (?:200|429|503) /);
        if (client.head.startsWith('HTTP/1.1 200')) served.push(client);
      }
    }
    return served;
  }

  const residentKib = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]);
  const descriptors = (): number => readdirSync(`/proc/${service.pid}/fd`).length;

  it('are served within bounded memory, and given back', async () => {
    const [residentBefore, descriptorsBefore] = [residentKib(), descriptors()];
    const idle = await openAll(IDLE, 'tools');
    const readers = await openAll(READERS, 'agent-runtime/threads/read/stream');
    expect([idle.length, readers.length]).toEqual([IDLE, READERS]);
    expect(residentKib() - residentBefore).toBeLessThan((IDLE + READERS) * PER_CONNECTION_KIB);

    // One message reaches every reader, and other callers are served meanwhile.
    const messages = [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }];
    await post('agent-runtime/threads/read/messages', { messages, agent: { id: agentId } }).expect(202);
    await tool('COLLECTION_THREADS_LIST').expect(200);
    await Promise.all(readers.map((reader) => reader.received('[DONE]')));

    for (const client of sockets) client.close();
    await eventually(() => expect(descriptors()).toBeLessThanOrEqual(descriptorsBefore + 100), RECOVERY_MS);
    await tool('COLLECTION_THREADS_LIST').expect(200);
    await supertest(url).get('/health/ready').expect(200);
  });
});

/** One connection. Keeps only the head of its first response, and the end of what came after it. */
class Client {
  head = '';
  private tail = '';

  private constructor(private readonly socket: Socket) {
    socket.on('error', () => undefined);
  }

  /** Resolves when the response to the request begins. @throws if the connection is closed instead */
  static async open(url: string, path: string, key: string): Promise<Client> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    const client = new Client(socket);
    socket.write(
      `GET /api/default/${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\nconnection: keep-alive\r\n\r\n`,
    );
    const [first] = await client.next();
    client.head = first.toString('latin1').split('\r\n', 1)[0] ?? '';
    socket.on('data', (bytes: Buffer) => (client.tail = (client.tail + bytes.toString('latin1')).slice(-4_096)));
    return client;
  }

  async received(text: string): Promise<void> {
    while (!this.tail.includes(text)) await this.next();
  }

  close(): void {
    this.socket.destroy();
  }

  /** The next bytes. @throws if the connection is closed instead */
  private async next(): Promise<[Buffer]> {
    if (this.socket.destroyed) throw new Error(`The connection is closed: ${this.head}`);
    const settled = new AbortController();
    const { signal } = settled;
    const closed = once(this.socket, 'close', { signal }).then(() => {
      throw new Error(`The connection was closed after: ${this.head} ${this.tail}`);
    });
    try {
      return (await Promise.race([once(this.socket, 'data', { signal }), closed])) as [Buffer];
    } finally {
      closed.catch(() => undefined);
      settled.abort();
    }
  }
}
