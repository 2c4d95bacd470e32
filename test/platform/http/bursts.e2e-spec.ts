import { Agent, type IncomingMessage, request as openRequest, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';

const BURST = 300;

let app: TestApp;
let otherKey: string;
/**
 * The credentials of the requests in the order in which they are answered. A client reads answers that were sent at once
 * in any order.
 */
let answered: (string | undefined)[] = [];
/** Keeps the connections of the first round for the second. */
const agent = new Agent({ keepAlive: true, maxFreeSockets: BURST + 1 });
beforeAll(async () => {
  // In this process, nothing is read before the whole burst is sent.
  app = await startTestApp({ env: { MAX_UNAUTHENTICATED_CONNECTIONS: '4000' } });
  const permissions = { self: ['COLLECTION_CONNECTIONS_LIST'] };
  const server = app.app.getHttpServer() as Server;
  server.on('request', ({ headers }: IncomingMessage, response: ServerResponse) => {
    response.once('finish', () => answered.push(headers.authorization));
  });
  otherKey = (await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'other', permissions })).key;
});
afterAll(async () => {
  agent.destroy();
  await app?.close();
});

it('a caller does not wait for the burst of another one that came first', async () => {
  const round = async (): Promise<void> => {
    answered = [];
    await Promise.all([...Array.from({ length: BURST }, () => app.apiKey), otherKey].map(list));
  };
  await round();
  await round();
  expect(answered).toHaveLength(BURST + 1);
  expect(answered.indexOf(`Bearer ${otherKey}`)).toBeLessThan(BURST / 2);
});

/** Lists connections. Resolves when the answer is complete. */
async function list(key: string): Promise<void> {
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
}
