import { Agent, type IncomingMessage, request as openRequest } from 'node:http';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';

const BURST = 300;

let app: TestApp;
let otherKey: string;
/** Keeps the connections of the first round for the second. */
const agent = new Agent({ keepAlive: true, maxFreeSockets: BURST + 1 });
beforeAll(async () => {
  // In this process, nothing is read before the whole burst is sent.
  app = await startTestApp({ env: { MAX_UNAUTHENTICATED_CONNECTIONS: '4000' } });
  const permissions = { self: ['COLLECTION_CONNECTIONS_LIST'] };
  otherKey = (await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'other', permissions })).key;
});
afterAll(async () => {
  agent.destroy();
  await app?.close();
});

it('a caller does not wait for the burst of another one that came first', async () => {
  const answered: string[] = [];
  const round = async (): Promise<void> => {
    answered.length = 0;
    const keys = [...Array.from({ length: BURST }, () => app.apiKey), otherKey];
    await Promise.all(keys.map(async (key) => answered.push(await list(key))));
  };
  await round();
  await round();
  expect(answered).toHaveLength(BURST + 1);
  expect(answered.indexOf(otherKey)).toBeLessThan(BURST / 2);
});

/** Lists connections. Returns the key when the answer is complete. */
async function list(key: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const request = openRequest(`${app.url}/api/default/tools/COLLECTION_CONNECTIONS_LIST`, {
    method: 'POST',
    headers,
    agent,
  });
  request.end('{}');
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  await once(response.resume(), 'end');
  return key;
}
