import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import supertest from 'supertest';
import { generateApiKey } from '../../../src/core/api-key-value.js';
import { type ModelServer, startModelServer } from '../../../src/boot/testing/model-server.js';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { AWS_ACCESS, BEDROCK_FIELDS, BedrockApi, type BedrockRequest } from '../../support/model-apis/bedrock-api.js';
import { PROVIDER_KEY } from '../../support/model-tools.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { ServiceProcess } from '../../support/service-process.js';
import { eventually } from '../../support/eventually.js';

const COMMAND = fileURLToPath(new URL('../../../dist/boot/rotate-vault.js', import.meta.url));
const TOKEN = 'token-that-nobody-may-see-0123456789';
const HEADER = 'header-that-nobody-may-see-0123456789';
const [OLD, NEW, OTHER] = [generateEncryptionKey('old'), generateEncryptionKey('new'), generateEncryptionKey('other')];
const BOOTSTRAP_KEY = generateApiKey();
const LIMIT_MS = 60_000;

/** The output of the command and its exit code. */
interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

let upstream: ScriptedServer;
let provider: FakeOpenAI;
let bedrock: ModelServer<BedrockRequest>;

beforeAll(async () => {
  const { script } = legacyServer(({ message }, response) => sendResult(response, message, { tools: [] }));
  upstream = await startScripted(script);
  provider = await startFakeOpenAI({ apiKey: PROVIDER_KEY });
  bedrock = await startModelServer(new BedrockApi(AWS_ACCESS));
});

afterAll(async () => {
  await upstream?.close();
  await provider?.close();
  await bedrock?.close();
});

describe('on a database server', () => {
  let database: TestDatabase;
  let ids: { connection: string; provider: string; bedrock: string };

  beforeAll(async () => {
    database = await createTestDatabase();
    await withService(OLD, async (service) => {
      ids = {
        connection: await createConnection(toolOf(service)),
        provider: await createProvider(service, {
          kind: 'openai-compatible',
          base_url: provider.baseUrl,
          api_key: PROVIDER_KEY,
        }),
        bedrock: await createProvider(service, { ...BEDROCK_FIELDS, base_url: bedrock.baseUrl }),
      };
    });
  });

  afterAll(() => database?.drop());

  /** Runs a service on the database with these keys. */
  async function withService(keys: string, work: (service: TestService) => Promise<void>): Promise<void> {
    const env = { ENCRYPTION_KEYS: keys, BOOTSTRAP_API_KEY: BOOTSTRAP_KEY };
    const service = await startTestService({ database, env });
    try {
      await work({ ...service, tool: (name, body) => service.tool(name, body, BOOTSTRAP_KEY) });
    } finally {
      await service.close();
    }
  }

  async function connect(): Promise<Client> {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    return client;
  }

  async function expectUsable(service: TestService): Promise<void> {
    await expectConnectionUsable(toolOf(service), ids.connection);
    for (const id of [ids.provider, ids.bedrock]) {
      const { body } = await service.tool('AI_PROVIDER_TEST', { id, model: 'any' });
      expect(body).toMatchObject({ ok: true });
    }
  }

  it(
    'names the rows with a missing key, prints no secret, changes nothing, and fails',
    async () => {
      const { code, stdout, stderr } = await rotate({ DATABASE_URL: database.url, ENCRYPTION_KEYS: OTHER });
      expect(code).toBe(1);
      const of = (column: string, id: string): string =>
        `${column} of ${id} cannot be decrypted: its key "old" is not in ENCRYPTION_KEYS.\n`;
      expect(stderr).toBe(
        of('connections.connection_token', ids.connection) +
          of('connections.connection_headers', ids.connection) +
          of('ai_providers.api_key', ids.provider) +
          of('ai_providers.secrets', ids.bedrock),
      );
      expect(stdout).not.toMatch(/[1-9]\d* re-encrypted/);
      expect(stdout + stderr).not.toMatch(/nobody-may-see|v1\.old/);
      for (const secret of [PROVIDER_KEY, OTHER.slice(6)]) expect(stdout + stderr).not.toContain(secret);
    },
    LIMIT_MS,
  );

  it(
    'reports a lost database connection and can be run again',
    async () => {
      const [writer, observer] = await Promise.all([connect(), connect()]);
      try {
        // The command waits for the locked row, where its connection is cut.
        await writer.query('BEGIN');
        await writer.query('SELECT 1 FROM connections WHERE id = $1 FOR UPDATE', [ids.connection]);
        const rotating = rotate({ DATABASE_URL: database.url, ENCRYPTION_KEYS: `${NEW},${OLD}` });
        const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'signalbox-vault-rotate' AND wait_event_type = 'Lock'`;
        await eventually(async () => expect((await observer.query(cut)).rowCount).toBeGreaterThan(0));
        const { code, stderr } = await rotating;
        expect(code).toBe(1);
        expect(stderr).toBe(
          'The connection to the database was lost. Run the command again to re-encrypt the remaining rows.\n',
        );
      } finally {
        await Promise.all([writer.end(), observer.end()]);
      }
    },
    LIMIT_MS,
  );

  it(
    're-encrypts while a service runs; then the new key suffices',
    async () => {
      await withService(`${NEW},${OLD}`, async (service) => {
        await expectUsable(service);
        const before = await rowsOf(service);
        const environment = { DATABASE_URL: database.url, ENCRYPTION_KEYS: `${NEW},${OLD}` };
        const first = await rotate(environment);
        expect(first).toMatchObject({ code: 0, stderr: '' });
        expect(first.stdout).toContain(
          'connections.connection_token: 1 re-encrypted, 0 already current, 0 cannot be decrypted\n',
        );
        // Sessions with the upstream continue: their cache key has not changed.
        expect(await rowsOf(service)).toEqual(before);
        await expectUsable(service);

        const second = await rotate(environment);
        expect(second).toMatchObject({ code: 0, stderr: '' });
        expect(second.stdout).toContain(
          'ai_providers.api_key: 0 re-encrypted, 1 already current, 0 cannot be decrypted\n',
        );
      });
      await withService(NEW, expectUsable);
    },
    LIMIT_MS,
  );

  async function rowsOf(service: TestService): Promise<unknown> {
    return service.query('SELECT id, revision, updated_at, connection_url FROM connections');
  }

  it('reports an unavailable database', async () => {
    const outcome = await rotate({ DATABASE_URL: 'postgres://127.0.0.1:1/none', ENCRYPTION_KEYS: NEW });
    expect(outcome).toEqual({ code: 1, stdout: '', stderr: 'Cannot connect to the database. Check DATABASE_URL.\n' });
  });
});

describe('on a data folder', () => {
  let dataDir: string;
  let apiKey = '';

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'signalbox-vault-'));
    if (process.getuid?.() === 0) await chmod(dataDir, 0o711); // for the user that PostgreSQL runs as
  });

  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  async function withService(work: (tool: CallTool) => Promise<void>): Promise<void> {
    const service = new ServiceProcess({ DATA_DIR: dataDir });
    try {
      const announced = await service.listening();
      apiKey ||= announced.apiKey ?? '';
      await work((name, body) =>
        supertest(announced.url).post(`/api/default/tools/${name}`).set('authorization', `Bearer ${apiKey}`).send(body),
      );
    } finally {
      await service.kill('SIGTERM');
    }
  }

  it(
    'uses the keys of the folder and the database of its running service',
    async () => {
      const keyFile = join(dataDir, 'encryption.key');
      let connection = '';
      await withService(async (tool) => {
        connection = await createConnection(tool);
      });
      const idle = await rotate({ DATA_DIR: dataDir });
      expect(idle).toMatchObject({ code: 1, stdout: '' });
      expect(idle.stderr).toMatch(/^DATABASE_URL is not set and no service runs on DATA_DIR [^\n]+\n$/);

      await writeFile(keyFile, `${NEW},${await readFile(keyFile, 'utf8')}`);
      await withService(async (tool) => {
        const outcome = await rotate({ DATA_DIR: dataDir });
        expect(outcome).toMatchObject({ code: 0, stderr: '' });
        expect(outcome.stdout).toContain('connections.connection_headers: 1 re-encrypted');
        await expectConnectionUsable(tool, connection);
      });

      await writeFile(keyFile, NEW);
      await withService((tool) => expectConnectionUsable(tool, connection));
    },
    LIMIT_MS,
  );
});

type CallTool = (name: string, body: object) => supertest.Test;

function toolOf(service: TestService): CallTool {
  return (name, body) => service.tool(name, body);
}

async function createConnection(tool: CallTool): Promise<string> {
  const data = {
    connection_type: 'HTTP',
    title: 'Upstream',
    connection_url: upstream.url,
    connection_token: TOKEN,
    connection_headers: { headers: { 'x-secret': HEADER } },
  };
  const { body } = await tool('COLLECTION_CONNECTIONS_CREATE', { data }).expect(200);
  return body.item.id;
}

async function createProvider(service: TestService, data: object): Promise<string> {
  const { body } = await service.tool('AI_PROVIDER_CREATE', { data: { title: 'Provider', ...data } }).expect(200);
  return body.item.id;
}

/** Expects the upstream to receive the stored credentials. */
async function expectConnectionUsable(tool: CallTool, id: string): Promise<void> {
  const seenBefore = upstream.requests.length;
  const { body } = await tool('CONNECTION_TEST', { id }).expect(200);
  expect(body).toMatchObject({ ok: true });
  const seen = upstream.requests.slice(seenBefore);
  expect(seen.length).toBeGreaterThan(0);
  for (const { headers } of seen)
    expect(headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'x-secret': HEADER });
}

/** Runs the command with only these environment variables. */
function rotate(env: Record<string, string>): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND], { env: { PATH: process.env['PATH'], ...env } }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}
