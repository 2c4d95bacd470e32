import { afterAll, beforeAll } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { MonitoringLogItem } from '../../../src/audit/calls/monitoring.dto.js';
import { createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { openModernClient } from '../../support/field-clients.js';
import { gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, pathOf, toolCall } from '../../support/proxy-calls.js';
import { auditOf, connectTo } from '../../support/proxy-connections.js';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendResult,
  startScripted,
} from '../../support/scripted-upstream.js';

/** By then, every process has read the setting. */
export const HEARD_MS = 1_000;
export const PLANTED = 'Zq7Planted9Secret';
export const ARGS = { text: 'hello', password: PLANTED, more: [{ 'API-Key': PLANTED }, `Bearer ${PLANTED}`] };
export const REDACTED_ARGS = { text: 'hello', password: '***', more: [{ 'API-Key': '***' }, 'Bearer ***'] };
export const LARGE = 'x'.repeat(300_000);
export const HOSTILE = {
  'nul\0': '\0\ud800',
  text: '\\N\t\n\\.',
  deep: JSON.parse('['.repeat(60) + ']'.repeat(60)) as unknown,
};

const TOOLS: Record<string, (args: unknown) => object> = {
  echo: (args) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }),
  fail: (args) => ({ isError: true, content: [{ type: 'text', text: JSON.stringify(args) }] }),
  large: () => ({ content: [{ type: 'text', text: LARGE }] }),
  half_large: () => ({ content: [{ type: 'text', text: LARGE.slice(0, 30_000) }] }),
  hostile: () => HOSTILE,
};

function sendEvent(response: Parameters<typeof sendResult>[0], { id }: RpcMessage, result: unknown): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
}

/** A service with one connection and one agent, and the records of the calls to it. */
interface AuditedApp {
  readonly app: Tenant;
  readonly upstream: ScriptedServer;
  readonly connection: string;
  readonly agent: string;
  /** Posts to an endpoint; returns the resulting record. */
  recordOf: (
    path: string,
    body: object,
    options?: { key?: string; accept?: string },
  ) => Promise<MonitoringLogItem | undefined>;
  /** The latest record of the entry point. */
  latestOf: (entryPoint: string) => Promise<MonitoringLogItem | undefined>;
  /** Each calls the tool `echo` through one entry point; returns the record of the call. */
  entryPoints: Record<string, () => Promise<MonitoringLogItem | undefined>>;
}

/** Starts the service before the tests of a spec, and stops it after them. */
export function useAuditedApp(): AuditedApp {
  let upstream: ScriptedServer;
  let app: Tenant;
  let connection: string;
  let agent: string;

  beforeAll(async () => {
    const { script } = legacyServer(({ message }, response) => {
      if (message.method !== 'tools/call') {
        const inputSchema = { type: 'object', properties: { count: { type: 'number' } } };
        const names = [...Object.keys(TOOLS), 'echo_stream', 'large_stream', 'refuse', 'drop'];
        return sendResult(response, message, { tools: names.map((name) => ({ name, inputSchema })) });
      }
      const { name, arguments: args } = message.params as { name: string; arguments: unknown };
      if (name === 'drop') return void response.destroy();
      if (name === 'refuse') {
        const error = { code: -32050, message: `Not with password=${PLANTED}`, data: { password: PLANTED } };
        return void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }));
      }
      const [tool = '', stream] = name === 'half_large' ? [name] : name.split('_');
      const result = TOOLS[tool]?.(args);
      return stream === undefined ? sendResult(response, message, result) : sendEvent(response, message, result);
    });
    upstream = await startScripted(script);
    app = await newTenant();
    connection = await connectTo(app, upstream.url);
    agent = await createAgent(app, [connection]);
  });
  afterAll(async () => {
    await app?.close();
    await upstream?.close();
  });

  async function recordOf(
    path: string,
    body: object,
    { key = app.apiKey, accept = 'application/json' } = {},
  ): Promise<MonitoringLogItem | undefined> {
    const requestId = randomUUID();
    await callProxy(app, path, { key, body, headers: { 'x-request-id': requestId, accept } });
    return auditOf(app, requestId);
  }

  async function latestOf(entryPoint: string): Promise<MonitoringLogItem | undefined> {
    const where = { field: ['door'], operator: 'eq', value: entryPoint };
    const page = await succeed<{ items: MonitoringLogItem[] }>(app, 'MONITORING_LOGS_LIST', { where, limit: 1 });
    return page.items[0];
  }

  const entryPoints: Record<string, () => Promise<MonitoringLogItem | undefined>> = {
    'the proxy': () => recordOf(pathOf(app, connection), toolCall('echo', ARGS)),
    'the proxy, to a caller that takes streams': () =>
      recordOf(pathOf(app, connection), toolCall('echo_stream', ARGS), { accept: 'text/event-stream' }),
    'the proxy, out of a stream': () => recordOf(pathOf(app, connection), toolCall('echo_stream', ARGS)),
    'a legacy path': () => recordOf(`/mcp/${connection}`, toolCall('echo', ARGS)),
    'call-tool': () => recordOf(`${pathOf(app, connection)}/call-tool/echo`, ARGS),
    'the gateway': () => recordOf(gatewayPath(app, agent), toolCall('echo', ARGS)),
    'the gateway in the modern era': async () => {
      const client = await openModernClient(
        { url: `${app.url}${gatewayPath(app, agent)}`, apiKey: app.apiKey },
        'auto',
      );
      await client.callTool('echo', ARGS);
      await client.close();
      return latestOf('gateway');
    },
    'a run': async () => {
      const thread = await ThreadClient.create(app, agent);
      await thread.ask(`/call echo ${JSON.stringify(ARGS)}`);
      return latestOf('run');
    },
  };

  return {
    get app() {
      return app;
    },
    get upstream() {
      return upstream;
    },
    get connection() {
      return connection;
    },
    get agent() {
      return agent;
    },
    recordOf,
    latestOf,
    entryPoints,
  };
}
