import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import { createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { answerWith, WebhookReceiver } from '../../support/webhook-receiver.js';
import { eventually } from '../../support/eventually.js';
import type { ProgramEnd } from '../../support/program.js';
import { type ServiceProcess, startWorkerProcess } from '../../support/service-process.js';
import { createWebhook, deleteWebhook, deliveriesOf, deliveryOf, makeDue } from './webhooks.support.js';

const LIMIT_MS = 90_000;
const ENV = {
  ENCRYPTION_KEYS: generateEncryptionKey('recovery'),
  UPSTREAM_ALLOW_PRIVATE: 'true',
};

let database: TestDatabase;
let api: TestService;
let receiver: WebhookReceiver;
let agentId: string;
/** A process of its own, which a test leaves to the next one. */
let worker: ServiceProcess | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
  [api, receiver] = await Promise.all([
    startTestService({ database, env: { ...ENV, ROLE: 'api' } }),
    WebhookReceiver.start(),
  ]);
  agentId = await createAgent(api);
});

afterAll(async () => {
  await endWorker('SIGKILL');
  await api?.close();
  await receiver?.close();
  await database?.drop();
});

const startAnotherWorker = (): Promise<ServiceProcess> => startWorkerProcess({ ...ENV, DATABASE_URL: database.url });

/** Starts the worker unless it runs. */
async function startWorker(): Promise<void> {
  worker ??= await startAnotherWorker();
}

/** Returns its exit code. */
async function endWorker(signal: 'SIGKILL' | 'SIGTERM'): Promise<ProgramEnd | undefined> {
  const code = await worker?.kill(signal);
  worker = undefined;
  return code;
}

async function post(): Promise<string> {
  return (await ThreadClient.create(api, agentId)).postMessage('hello');
}

it(
  'delivers what a process has claimed and not sent before its SIGKILL',
  async () => {
    // The worker claims the delivery and connects, but cannot send: the TLS handshake gets no answer.
    const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const webhook = await createWebhook(api, `https://127.0.0.1:${port}/`);
    await startWorker();
    const connected = once(silent, 'connection');
    const runId = await post();
    await connected;
    await endWorker('SIGKILL');
    silent.close();
    const { id, attempts } = await deliveryOf(api, runId, { status: 'pending' });
    expect(attempts).toBe(0);
    await succeed(api, 'WEBHOOK_UPDATE', { id: webhook.item.id, data: { url: receiver.url } });
    await startWorker();
    try {
      await makeDue(api, id);
      await deliveryOf(api, runId, { status: 'delivered', attempts: 1 });
      expect(await receiver.messagesOf(runId)).toHaveLength(1);
    } finally {
      await deleteWebhook(api, webhook);
    }
  },
  LIMIT_MS,
);

it(
  'delivers again, under the same id, what was delivered but not recorded before a SIGKILL',
  async () => {
    const webhook = await createWebhook(api, receiver.url);
    const holder = new Client({ connectionString: database.url });
    await holder.connect();
    // The row is locked before the receiver answers, so the record of the delivery has to wait.
    receiver.respond = (response) => {
      receiver.respond = answerWith(204);
      void holder
        .query('BEGIN; SELECT FROM webhook_deliveries FOR UPDATE')
        .then(() => answerWith(204)(response, { path: '', headers: {}, body: '' }));
    };
    await startWorker();
    const runId = await post();
    const recording = await eventually(async () => {
      const [found]: { pid: number }[] = await api.query(
        `SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%SET status = ''delivered''%'`,
      );
      return found ?? false;
    });
    await endWorker('SIGKILL');
    // The server would notice only later that its client is gone.
    await api.query('SELECT pg_terminate_backend($1)', [recording.pid]);
    await holder.query('ROLLBACK');
    await holder.end();
    const { id } = await deliveryOf(api, runId, { status: 'pending', attempts: 0 });
    await startWorker();
    try {
      await makeDue(api, id);
      await deliveryOf(api, runId, { status: 'delivered', attempts: 1 });
      const messages = await receiver.messagesOf(runId);
      expect(messages.map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
      expect(messages[0]?.body).toBe(messages[1]?.body);
    } finally {
      await deleteWebhook(api, webhook);
    }
  },
  LIMIT_MS,
);

it(
  'gives a delivery back at SIGTERM, and another process makes the try at once',
  async () => {
    const webhook = await createWebhook(api, receiver.url);
    receiver.respond = () => undefined;
    await startWorker();
    const runId = await post();
    await receiver.messagesOf(runId);
    expect(await endWorker('SIGTERM')).toBe(0);
    receiver.respond = answerWith(204);
    expect(await deliveryOf(api, runId, { status: 'pending' })).toMatchObject({ attempts: 0, last_error: null });
    await startWorker();
    try {
      await deliveryOf(api, runId, { status: 'delivered', attempts: 1 });
    } finally {
      await deleteWebhook(api, webhook);
    }
  },
  LIMIT_MS,
);

it(
  'delivers everything once with several processes',
  async () => {
    const webhook = await createWebhook(api, receiver.url);
    const other = startAnotherWorker();
    try {
      await Promise.all([other, startWorker()]);
      const runs = await Promise.all(Array.from({ length: 30 }, post));
      for (const runId of runs) {
        await deliveryOf(api, runId, { status: 'delivered', attempts: 1 });
        expect(await receiver.messagesOf(runId)).toHaveLength(1);
        expect(await deliveriesOf(api, runId)).toHaveLength(1);
      }
    } finally {
      await (await other.catch(() => undefined))?.kill('SIGTERM');
      await deleteWebhook(api, webhook);
    }
  },
  LIMIT_MS,
);
