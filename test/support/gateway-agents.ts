import { succeed } from './agent-runs.js';
import type { Tenant } from './tenant.js';
import { callProxy, type ProxyAnswer, rpc, type RpcAnswer, rpcOf, toolCall } from './proxy-calls.js';

/** A connection's place in a new agent. */
interface Holding {
  connection_id: string;
  selected_tools?: (string | { tool: string; name?: string })[] | null;
  prefix?: string | null;
}

/** Makes an agent; returns its id. A connection may be given by its id alone. */
export async function agentOf(app: Tenant, held: readonly (string | Holding)[], more: object = {}): Promise<string> {
  const connections = held.map((member) => (typeof member === 'string' ? { connection_id: member } : member));
  const data = { title: 'Agent', connections, ...more };
  return (await succeed<{ item: { id: string } }>(app, 'COLLECTION_VIRTUAL_MCP_CREATE', { data })).item.id;
}

export const gatewayPath = ({ org }: Pick<Tenant, 'org'>, agentId: string): string =>
  `/api/${org}/mcp/gateway/${agentId}`;

export interface Listed {
  names: string[];
  tools: { name: string; description?: string }[];
  unavailable: { connectionId: string; title: string; reason: string }[];
}

/** `tools/list` without a session. */
export async function listThrough(app: Tenant, path: string, key = app.apiKey): Promise<Listed> {
  const answer = await callProxy(app, path, { key, body: rpc('tools/list') });
  if (answer.status !== 200) throw new Error(`tools/list was answered with ${answer.status}: ${answer.text}`);
  const { tools = [], _meta } = rpcOf(answer).result as {
    tools?: Listed['tools'];
    _meta?: { 'mcp.service'?: { unavailable?: Listed['unavailable'] } };
  };
  return { names: tools.map(({ name }) => name), tools, unavailable: _meta?.['mcp.service']?.unavailable ?? [] };
}

/** `tools/call` without a session. */
export async function callThrough(
  app: Tenant,
  path: string,
  name: string,
  args: object = {},
  key: string | undefined = app.apiKey,
): Promise<ProxyAnswer & { rpc: RpcAnswer }> {
  const answer = await callProxy(app, path, { key, body: toolCall(name, args) });
  return { ...answer, rpc: rpcOf(answer) };
}
