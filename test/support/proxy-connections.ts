import { expect } from '@jest/globals';
import type { MonitoringLogItem } from '../../src/audit/calls/monitoring.dto.js';
import { succeed } from './agent-runs.js';
import type { Tenant } from './tenant.js';

/** Makes an HTTP connection; returns its id. */
export async function connectTo(app: Tenant, url: string, more: object = {}): Promise<string> {
  const data = { title: 'Upstream', connection_type: 'HTTP', connection_url: url, ...more };
  return (await succeed<{ item: { id: string } }>(app, 'COLLECTION_CONNECTIONS_CREATE', { data })).item.id;
}

interface ProgramMembers {
  readonly title?: string;
  readonly env?: Record<string, string>;
  readonly timeout?: number;
  readonly shared_state?: boolean;
}

/** Makes a connection to a program that the service starts with Node; returns its id. */
export async function connectProgram(
  app: Tenant,
  args: readonly string[],
  { title = 'Program', env, ...more }: ProgramMembers = {},
): Promise<string> {
  const data = { title, connection_type: 'STDIO', stdio: { command: 'node', args, env }, ...more };
  return (await succeed<{ item: { id: string } }>(app, 'COLLECTION_CONNECTIONS_CREATE', { data })).item.id;
}

/** Makes a key; returns its value. */
export async function keyWith(app: Tenant, permissions: Record<string, string[]>, more: object = {}): Promise<string> {
  return (await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'test', permissions, ...more })).key;
}

/** The audit record of a request; undefined when there is none. */
export async function auditOf(app: Tenant, requestId: string | undefined): Promise<MonitoringLogItem | undefined> {
  const where = { field: ['request_id'], operator: 'eq', value: requestId };
  const { items } = await succeed<{ items: MonitoringLogItem[] }>(app, 'MONITORING_LOGS_LIST', { where });
  expect(items.length).toBeLessThanOrEqual(1);
  return items[0];
}
