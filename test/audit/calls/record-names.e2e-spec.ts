import { beforeAll, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { AuditLog } from '../../../src/audit/calls/audit-log.js';
import { newId } from '../../../src/core/ids.js';
import { startTestApp } from '../../support/app.js';
import { useStarted } from '../../support/use-started.js';

const service = useStarted(startTestApp);
let database: DataSource;
let organizationId: string;

beforeAll(async () => {
  database = service.app.get(DataSource);
  const [own] = await database.query(`SELECT id FROM organizations WHERE slug = 'default'`);
  organizationId = own.id as string;
});

async function made(name: string, input: object): Promise<{ id: string; key: string }> {
  const { body } = await service.tool(name, input).expect(200);
  return body.item ?? body;
}

const connection = (title: string) =>
  made('COLLECTION_CONNECTIONS_CREATE', {
    data: { connection_type: 'HTTP', title, connection_url: 'http://127.0.0.1:9/mcp' },
  });

it('MONITORING_LOGS_LIST and MONITORING_STATS name keys, users and connections, also those deleted since', async () => {
  const key = await made('API_KEY_CREATE', { name: 'caller', permissions: {} });
  const doomed = await made('API_KEY_CREATE', { name: 'deleted caller', permissions: {} });
  const kept = await connection('Kept');
  const removed = await connection('Removed');
  const userId = newId();
  await database.query(`INSERT INTO users (id, name, email) VALUES ($1, 'Ann', 'ann@example.com')`, [userId]);
  const audit = service.app.get(AuditLog, { strict: false });
  const record = (requestId: string, connectionId: string, apiKeyId: string) =>
    audit
      .openEntry({
        organizationId,
        entryPoint: 'proxy',
        connectionId,
        agentId: null,
        toolName: 'named',
        userId,
        apiKeyId,
        runId: null,
        requestId,
        public: false,
      })
      .close({ status: 'success', errorCode: null, durationMs: 1 });
  await record('one', kept.id, key.id);
  await record('two', removed.id, doomed.id);
  await service.tool('API_KEY_DELETE', { id: doomed.id }).expect(200);
  await service.tool('COLLECTION_CONNECTIONS_DELETE', { id: removed.id }).expect(200);
  await database.query('DELETE FROM users WHERE id = $1', [userId]);
  await service.tool('COLLECTION_CONNECTIONS_UPDATE', { id: kept.id, data: { title: 'Renamed' } }).expect(200);

  const where = { field: ['tool_name'], operator: 'eq', value: 'named' };
  const { body } = await service.tool('MONITORING_LOGS_LIST', { where }).expect(200);
  expect(body.items).toMatchObject([
    { request_id: 'two', connection_title: 'Removed', key_name: 'deleted caller', user_email: 'ann@example.com' },
    { request_id: 'one', connection_title: 'Renamed', key_name: 'caller', user_email: 'ann@example.com' },
  ]);
  const stats = await service.tool('MONITORING_STATS', { tool_name: 'named' }).expect(200);
  const titles = stats.body.tools.map((tool: Record<string, string>) => [tool.connection_id, tool.connection_title]);
  expect(titles.toSorted()).toEqual(
    [
      [kept.id, 'Renamed'],
      [removed.id, 'Removed'],
    ].toSorted(),
  );
});

it('RUN_LIST and RUN_GET name the key of a run', async () => {
  const agent = await made('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent', connections: [] } });
  const thread = await made('COLLECTION_THREADS_CREATE', { data: { title: 'T', virtual_mcp_id: agent.id } });
  const key = await made('API_KEY_CREATE', { name: 'poster', permissions: {} });
  const posted = await fetch(`${service.url}/api/default/agent-runtime/threads/${thread.id}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
      agent: { id: agent.id },
    }),
  });
  expect(posted.status).toBe(202);
  const { taskId } = (await posted.json()) as { taskId: string };
  await service.tool('API_KEY_DELETE', { id: key.id }).expect(200);
  const named = { user_id: null, user_email: null, api_key_id: key.id, key_name: 'poster' };
  const where = { field: ['api_key_id'], operator: 'eq', value: key.id };
  expect((await service.tool('RUN_LIST', { where }).expect(200)).body.items).toMatchObject([{ id: taskId, ...named }]);
  expect((await service.tool('RUN_GET', { id: taskId }).expect(200)).body.item).toMatchObject(named);
});
