import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Injectable, Logger, Module, Post } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import supertest from 'supertest';
import { Access } from '../../../src/core/access.js';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import { createAgent, LONG, succeed, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { ServiceProcess } from '../../support/service-process.js';

type Line = Record<string, unknown>;

@Injectable()
class LedgerService {
  private readonly logger = new Logger(LedgerService.name);
  private timer: NodeJS.Timeout | undefined;

  /** Logs during the request and again after it has ended. */
  async add(): Promise<void> {
    await sleep(1);
    this.logger.log('added');
    this.timer = setTimeout(() => this.logger.log('audited'), 200);
  }

  close(): void {
    clearTimeout(this.timer);
  }
}

@Controller('ledger')
@Access('public')
class LedgerController {
  constructor(private readonly ledger: LedgerService) {}

  @Post()
  async add(): Promise<object> {
    await this.ledger.add();
    return {};
  }
}

@Module({ controllers: [LedgerController], providers: [LedgerService] })
class LedgerModule {}

const lines: string[] = [];
let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({
    env: { LOG_LEVEL: 'info' },
    modules: [LedgerModule],
    onLogLine: (line) => lines.push(line),
  });
});
afterAll(async () => {
  app.app.get(LedgerService).close();
  await app.close();
});

/** Waits for a line with these fields and returns all of them. */
async function linesWith(fields: Line): Promise<Line[]> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const found = lines
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => Object.entries(fields).every(([name, value]) => line[name] === value));
    if (found.length > 0) return found;
    await sleep(25);
  }
  throw new Error(`No line has ${JSON.stringify(fields)}.`);
}

describe('log lines of services', () => {
  it('have the id of their request until it ends', async () => {
    const post = (id: string): supertest.Test =>
      supertest(app.url).post('/ledger').set('x-request-id', id).send({ entry: 1 });
    await Promise.all([post('ledger-1').expect(201), post('ledger-2').expect(201)]);
    const added = await linesWith({ msg: 'added', context: 'LedgerService' });

    expect(added.map((line) => line['request_id']).toSorted()).toEqual(['ledger-1', 'ledger-2']);
    for (const audited of await linesWith({ msg: 'audited' })) expect(audited).not.toHaveProperty('request_id');
  });
});

describe('a run that fails', () => {
  const MESSAGE = 'A run failed';

  it('logs one line with run, thread, code, and the id of the request that posted it', async () => {
    const thread = await ThreadClient.create(app, await createAgent(app));
    const stream = await thread.stream();
    const headers = { 'x-request-id': 'failing-1' };
    const { taskId } = (await thread.post(thread.request('/fail words of the failure'), { headers }).expect(202)).body;
    await stream.collectUntilDone();
    const { error } = await thread.run(taskId);

    expect(await linesWith({ msg: MESSAGE, run_id: taskId })).toEqual([
      expect.objectContaining({ level: 'warn', thread_id: thread.id, request_id: 'failing-1', code: error?.code }),
    ]);
    expect(lines.join('')).not.toContain('words of the failure');
  });

  it('logs one line even before it has started', async () => {
    const created = await app.tool('API_KEY_CREATE', { name: 'lost', permissions: { self: ['*'] } });
    const thread = await ThreadClient.create(app, await createAgent(app));
    const running = await thread.postMessage(LONG);
    const headers = { 'x-request-id': 'failing-2' };
    const posted = await thread.post(thread.request('waits'), { key: created.body.key, headers }).expect(202);
    await succeed(app, 'API_KEY_DELETE', { id: created.body.id });
    const { taskId } = posted.body as { taskId: string };

    expect(await linesWith({ msg: MESSAGE, run_id: taskId })).toEqual([
      expect.objectContaining({ thread_id: thread.id, request_id: 'failing-2', code: 'credential_revoked' }),
    ]);
    await thread.cancel(running).expect(202);
    await thread.waitFor(running, 'cancelled');
  });

  it('logs nothing if it succeeds', async () => {
    const thread = await ThreadClient.create(app, await createAgent(app));
    const { taskId } = await thread.ask('hello');
    const failed = lines.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === MESSAGE);
    expect(failed.filter((line) => line['run_id'] === taskId)).toEqual([]);
  });
});

describe('a service', () => {
  let database: TestDatabase | undefined;
  afterEach(() => database?.drop());

  it('logs when it is ready and when it stops', async () => {
    database = await createTestDatabase();
    const ENCRYPTION_KEYS = generateEncryptionKey('test');
    const service = new ServiceProcess({ DATABASE_URL: database.url, ENCRYPTION_KEYS });
    const { url } = await service.listening();
    await service.printed(/The service is ready/);
    expect(await service.kill('SIGTERM')).toBe(0);
    const told = service.output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line)
      .filter(({ msg }) => String(msg).startsWith('The service '));

    expect(told).toMatchObject([
      { level: 'info', msg: 'The service is ready', url, role: 'all', version: expect.any(String) },
      { msg: 'The service is stopping' },
      { msg: 'The service has stopped' },
    ]);
  });
});
