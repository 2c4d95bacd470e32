import { describe, expect, it } from '@jest/globals';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import supertest from 'supertest';
import { newTenant } from '../../support/tenant.js';
import { useStarted } from '../../support/use-started.js';

const service = useStarted(newTenant);

function endpoint(): URL {
  return new URL(`${service.url}/api/${service.org}/mcp/self`);
}

function options(key: string) {
  return { requestInit: { headers: { authorization: `Bearer ${key}` } } };
}

async function legacyClient(key = service.apiKey): Promise<LegacyClient> {
  const client = new LegacyClient({ name: 'test', version: '1' });
  await client.connect(new LegacyTransport(endpoint(), options(key)));
  return client;
}

async function modernClient(key = service.apiKey): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new StreamableHTTPClientTransport(endpoint(), options(key)));
  return client;
}

async function keyFor(...self: string[]): Promise<string> {
  const { body } = await service.tool('API_KEY_CREATE', { name: 'limited', permissions: { self } }).expect(200);
  return body.key;
}

describe.each([
  ['SDK 1.32', legacyClient],
  ['client 2.4, modern era', modernClient],
])('the management tools for %s', (_name, connect) => {
  it('are those of POST /tools/:NAME, with schemas and annotations', async () => {
    const client = await connect();
    const { tools } = await client.listTools();
    const { body } = await supertest(service.url)
      .get(`/api/${service.org}/tools`)
      .set('authorization', `Bearer ${service.apiKey}`)
      .expect(200);
    expect(tools.map(({ name }) => name)).toEqual(body.items.map(({ name }: { name: string }) => name));
    for (const item of body.items) {
      expect(tools.find(({ name }) => name === item.name)).toMatchObject({
        description: item.description,
        inputSchema: item.input_schema,
        outputSchema: item.output_schema,
        annotations: item.annotations,
      });
    }
    await client.close();
  });

  it('create and read a connection, an agent and a thread', async () => {
    const client = await connect();
    // From then on, the client compares each answer with the schema of its tool.
    await client.listTools();
    const call = async (name: string, args: Record<string, unknown>): Promise<{ item: { id: string } }> => {
      const result = await client.callTool({ name, arguments: args });
      expect(result.isError).not.toBe(true);
      return result.structuredContent as { item: { id: string } };
    };
    const connection = await call('COLLECTION_CONNECTIONS_CREATE', {
      data: { connection_type: 'HTTP', title: 'Made by MCP', connection_url: 'http://127.0.0.1:9/mcp' },
    });
    const agent = await call('COLLECTION_VIRTUAL_MCP_CREATE', {
      data: { title: 'Agent', connections: [{ connection_id: connection.item.id }] },
    });
    const thread = await call('COLLECTION_THREADS_CREATE', {
      data: { title: 'Thread', virtual_mcp_id: agent.item.id },
    });
    expect(thread.item).toMatchObject({ status: 'completed', virtual_mcp_id: agent.item.id });
    for (const collection of ['CONNECTIONS', 'VIRTUAL_MCP', 'THREADS']) await call(`COLLECTION_${collection}_LIST`, {});
    await call('COLLECTION_CONNECTIONS_GET', { id: connection.item.id });
    await call('COLLECTION_VIRTUAL_MCP_GET', { id: agent.item.id });
    await call('COLLECTION_THREADS_GET', { id: thread.item.id });
    await client.close();
  });

  it('are listed only if the caller can call them, and refused otherwise', async () => {
    const client = await connect(await keyFor('COLLECTION_THREADS_LIST'));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['COLLECTION_THREADS_LIST']);
    await expect(client.callTool({ name: 'API_KEY_LIST', arguments: {} })).rejects.toThrow(/permission/);
    await expect(client.callTool({ name: 'NO_SUCH_TOOL', arguments: {} })).rejects.toThrow(/no management tool/i);
    await client.close();
  });

  it('report faults of the arguments', async () => {
    const client = await connect();
    const call = async (
      name: string,
      args: Record<string, unknown>,
    ): Promise<{ sentence: string; problem: object }> => {
      const result = await client.callTool({ name, arguments: args });
      expect(result.isError).toBe(true);
      const [{ text }] = result.content as [{ text: string }];
      const start = text.indexOf('\n');
      return { sentence: text.slice(0, start), problem: JSON.parse(text.slice(start)) as object };
    };
    const one = await call('COLLECTION_THREADS_GET', { id: 7 });
    expect(one.sentence).toMatch(/^id: \S.*\.$/);
    expect(one.problem).toMatchObject({ code: 'invalid_request', errors: [{ path: 'id' }] });
    const all = await call('COLLECTION_THREADS_CREATE', { data: { title: 7, odd: 1 } });
    for (const path of ['data.title: ', 'data.virtual_mcp_id: ', 'data.odd: ']) expect(all.sentence).toContain(path);
    const missing = await call('COLLECTION_THREADS_GET', { id: 'no-such-thread' });
    expect(missing.sentence).toMatch(/^[A-Z].*\.$/);
    await client.close();
  });
});

describe('the endpoint', () => {
  it('records every call, allowed or denied', async () => {
    const key = await keyFor('MODEL_TIERS_GET');
    const client = await legacyClient(key);
    await client.callTool({ name: 'MODEL_TIERS_GET', arguments: {} });
    await client.callTool({ name: 'API_KEY_LIST', arguments: {} }).catch(() => undefined);
    await client.close();
    const { body } = await service
      .tool('MONITORING_LOGS_LIST', { where: { field: ['door'], operator: 'eq', value: 'self' }, limit: 2 })
      .expect(200);
    const rows = body.items.map(({ tool_name, status }: Record<string, string>) => [tool_name, status]);
    expect(rows).toEqual(
      expect.arrayContaining([
        ['MODEL_TIERS_GET', 'success'],
        ['API_KEY_LIST', 'denied'],
      ]),
    );
  });

  it('challenges a caller without a credential, and refuses a foreign organization', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const missing = await supertest(service.url).post(`/api/${service.org}/mcp/self`).send(body).expect(401);
    expect(missing.headers['www-authenticate']).toBe(
      `Bearer realm="mcp",resource_metadata="${service.url}/api/${service.org}/mcp/self/.well-known/oauth-protected-resource"`,
    );
    const foreign = await supertest(service.url)
      .post('/api/other/mcp/self')
      .set('authorization', `Bearer ${service.apiKey}`)
      .send(body);
    expect(foreign.status).toBe(403);
    expect(foreign.body).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { data: { code: 'organization_mismatch' } },
    });
  });

  it('responds with one JSON body to a caller that accepts no stream', async () => {
    const answer = await supertest(service.url)
      .post(`/api/${service.org}/mcp/self`)
      .set('authorization', `Bearer ${await keyFor('MODEL_TIERS_GET')}`)
      .send({ jsonrpc: '2.0', id: 'a', method: 'tools/list' })
      .expect(200);
    expect(answer.headers['content-type']).toContain('application/json');
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: 'a', result: { tools: [{ name: 'MODEL_TIERS_GET' }] } });
  });

  it('responds to malformed input with a JSON-RPC error', async () => {
    const answer = await supertest(service.url)
      .post(`/api/${service.org}/mcp/self`)
      .set('authorization', `Bearer ${service.apiKey}`)
      .set('content-type', 'application/json')
      .send('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}');
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code: -32600, data: { code: 'invalid_rpc_request' } });
  });
});
