import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestApp, startMcpUpstream, type TestClient } from 'signalbox/testing';
import supertest from 'supertest';

const app = await createTestApp();
const upstream = await startMcpUpstream({
  'read-file': { handler: () => 'content' },
  'delete-file': { handler: () => 'deleted' },
});
let connectionId: string;
let reader: TestClient;

before(async () => {
  connectionId = await app.connect(upstream);
  reader = await app.createKey({ [connectionId]: ['read-file'] });
});

after(async () => {
  await app.close();
  await upstream.close();
});

/** Calls a tool through the proxy, as an MCP client does. */
function callTool(client: TestClient, name: string): supertest.Test {
  return supertest(client.url)
    .post(`/api/${client.org}/mcp/${connectionId}`)
    .set({ authorization: `Bearer ${client.apiKey}`, accept: 'application/json, text/event-stream' })
    .send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } });
}

test('a permitted tool is called', async () => {
  const { text } = await callTool(reader, 'read-file').expect(200);
  assert.match(text, /"text":"content"/);
  assert.equal(upstream.calls.length, 1);
});

test('a call without a permission is refused and never reaches the upstream', async () => {
  const { body } = await callTool(reader, 'delete-file').expect(403);
  assert.equal(body.error.data.code, 'permission_denied');
  assert.deepEqual(
    upstream.calls.filter(({ tool }) => tool === 'delete-file'),
    [],
  );
});

test('the refusal is recorded', async () => {
  const { items } = await app.tool<{ items: { tool_name: string; status: string }[] }>('MONITORING_LOGS_LIST');
  assert.equal(items.find(({ tool_name }) => tool_name === 'delete-file')?.status, 'denied');
});
