import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { newTenant, type Tenant } from '../support/tenant.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';

let service: Tenant;
let everything: EverythingServer;
let connectionId: string;

beforeAll(async () => {
  everything = await startEverything();
  service = await newTenant();
  const { body } = await service.tool('COLLECTION_CONNECTIONS_CREATE', {
    data: { connection_type: 'HTTP', title: 'Everything', connection_url: everything.url },
  });
  connectionId = body.item.id;
});
afterAll(async () => {
  await service?.close();
  await everything?.close();
});

function post(message: object | string, { key = service.apiKey, id = connectionId } = {}): supertest.Test {
  const test = supertest(service.url).post(`/api/${service.org}/mcp/${id}`).set('content-type', 'application/json');
  if (key !== '') test.set('authorization', `Bearer ${key}`);
  return test.send(typeof message === 'string' ? message : JSON.stringify(message));
}

describe('a caller without a session', () => {
  it('lists and calls tools at once', async () => {
    const list = await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect(list.body).toMatchObject({ jsonrpc: '2.0', id: 1 });
    expect(list.body.result.tools.map(({ name }: { name: string }) => name)).toContain('echo');
    const call = await post({
      jsonrpc: '2.0',
      id: 'a',
      method: 'tools/call',
      params: { name: 'echo', arguments: { message: 'hi' } },
    });
    expect(call.body).toEqual({ jsonrpc: '2.0', id: 'a', result: { content: [{ type: 'text', text: 'Echo: hi' }] } });
  });
});

describe('an inactive connection', () => {
  it.each([
    ['as the service shows it', (id: string) => id],
    ['in capitals', (id: string) => id.toUpperCase()],
  ])('is refused at once to a caller that spells its id %s', async (_spelling, spell) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const id = spell(connectionId);
    const set = (status: string): supertest.Test =>
      service.tool('COLLECTION_CONNECTIONS_UPDATE', { id: connectionId, data: { status } });
    await set('active');
    expect((await post(message, { id })).body.result).toBeDefined();
    await set('inactive');
    expect((await post(message, { id })).body.error.data.code).toBe('connection_unavailable');
  });
});
