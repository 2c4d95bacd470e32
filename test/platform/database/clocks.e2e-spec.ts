import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { generateApiKey } from '../../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import { createAgent } from '../../support/agent-runs.js';
import { startTestService } from '../../support/service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { eventually } from '../../support/eventually.js';
import { ServiceProcess } from '../../support/service-process.js';
import { createSchedule } from '../../automation/schedules/schedules.support.js';
import { addPerson, Browser, newEmail } from '../../identity/sign-in/people.js';

const START_MS = 60_000;
const TWO_HOURS_MS = 7_200_000;
const ADDRESS = newEmail();
const ENV = { ENCRYPTION_KEYS: generateEncryptionKey('clocks'), BOOTSTRAP_API_KEY: generateApiKey() };

let database: TestDatabase;
let client: Client;
let scheduleId: string;
let shortKey: string;
let service: ServiceProcess;
let url: string;

/**
 * A process with the right clock stores a schedule, a key of ten minutes, and as many failed sign-ins as an address may
 * have; then one that is two hours ahead starts.
 */
beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  const app = await startTestService({ database, env: { ...ENV, ROLE: 'api' } });
  const tool = (name: string, body?: object) => app.tool(name, body, ENV.BOOTSTRAP_API_KEY);
  const owner = { ...app, apiKey: ENV.BOOTSTRAP_API_KEY, tool };
  ({ id: scheduleId } = await createSchedule(owner, await createAgent(owner)));
  const created = await tool('API_KEY_CREATE', {
    name: 'short',
    permissions: { self: ['API_KEY_LIST'] },
    expiresIn: 600,
  });
  shortKey = (created.body as { key: string }).key;
  await addPerson(owner, { email: ADDRESS });
  const browser = new Browser(app.url);
  for (let n = 0; n < 10; n++) expect((await browser.signIn(ADDRESS, 'not the password')).status).toBe(401);
  await app.close();
  service = new ServiceProcess({
    ...ENV,
    DATABASE_URL: database.url,
    NODE_OPTIONS: `--import ${new URL('../../support/shifted-clock.mjs', import.meta.url).href}`,
    CLOCK_SHIFT_MS: String(TWO_HOURS_MS),
  });
  ({ url } = await service.listening());
}, START_MS);

afterAll(async () => {
  await service?.kill('SIGKILL');
  await client?.end();
  await database?.drop();
});

function call(name: string, key: string, body: object = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return fetch(`${url}/api/default/tools/${name}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

it('a process that is two hours ahead fires a schedule and completes its run', async () => {
  await client.query('UPDATE schedules SET next_run_at = now() WHERE id = $1', [scheduleId]);
  await eventually(async () => {
    const { rows } = await client.query('SELECT status, error FROM runs WHERE schedule_id = $1', [scheduleId]);
    expect(rows).toEqual([{ status: 'completed', error: null }]);
  });
});

it('a process that is two hours ahead accepts a key of ten minutes, and makes one that lives ten minutes', async () => {
  expect((await call('API_KEY_LIST', shortKey)).status).toBe(200);
  const body = { name: 'made', permissions: { self: [] }, expiresIn: 600 };
  expect((await call('API_KEY_CREATE', ENV.BOOTSTRAP_API_KEY, body)).status).toBe(200);
  const { rows } = await client.query(
    `SELECT expires_at BETWEEN now() + interval '5 minutes' AND now() + interval '11 minutes' AS "isRight"
       FROM api_keys WHERE name = 'made'`,
  );
  expect(rows).toEqual([{ isRight: true }]);
});

it('a process that is two hours ahead counts failed sign-ins in the window that another one began', async () => {
  const answer = await new Browser(url).signIn(ADDRESS);
  expect(answer.status).toBe(429);
  expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(900);
  const { rows } = await client.query(
    `SELECT DISTINCT expire <= (extract(epoch FROM now() + interval '15 minutes') * 1000)::bigint AS "isRight" FROM failed_sign_ins`,
  );
  expect(rows).toEqual([{ isRight: true }]);
});
