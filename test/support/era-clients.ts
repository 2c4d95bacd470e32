import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Tenant } from './tenant.js';
import { pathOf, rpc, TAKES_STREAMS } from './proxy-calls.js';

/** The revision of the modern era. */
export const MODERN = '2026-07-28';

/** A client that speaks the modern era only, connected through the proxy. */
export function openModern(app: Tenant, connectionId: string, capabilities: object = {}): Promise<Client> {
  return openModernAt(app, pathOf(app, connectionId), { capabilities });
}

/** The same at any path of the service, with any key. */
export async function openModernAt(
  { url, apiKey }: Tenant,
  path: string,
  { capabilities = {}, key = apiKey }: { capabilities?: object; key?: string } = {},
): Promise<Client> {
  const versionNegotiation = { mode: { pin: MODERN } };
  const client = new Client({ name: 'modern', version: '1' }, { capabilities, versionNegotiation });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(path, url), { requestInit }));
  return client;
}

/** A request of the modern era, written by hand. */
export function modernRequest(
  method: string,
  params: Record<string, unknown> = {},
  more: { headers?: object; version?: string; capabilities?: object; progressToken?: number } = {},
) {
  const { version = MODERN, headers = {}, capabilities = {}, progressToken } = more;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...(progressToken !== undefined && { progressToken }),
  };
  const name = params['name'] ?? params['uri'] ?? params['taskId'];
  return {
    headers: {
      ...TAKES_STREAMS,
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': String(name) }),
      ...headers,
    } as Record<string, string>,
    body: rpc(method, { ...params, _meta }),
  };
}

/** A client that speaks the legacy era only, connected through the proxy, with its transport. */
export async function openLegacy(
  app: Tenant,
  connectionId: string,
  capabilities: object = {},
): Promise<{ client: LegacyClient; transport: LegacyTransport }> {
  const client = new LegacyClient({ name: 'legacy', version: '1' }, { capabilities });
  const transport = new LegacyTransport(...endpointOf(app, connectionId));
  await client.connect(transport);
  return { client, transport };
}

/** Connects a client of the legacy era, and waits until its stream of announcements is open: its SDK does not. */
export async function connectListening(client: LegacyClient, url: URL, requestInit: RequestInit): Promise<void> {
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  const transport = new LegacyTransport(url, {
    requestInit,
    fetch: async (address, init) => {
      const answer = await fetch(address, init);
      if (init?.method === 'GET') resolve();
      return answer;
    },
  });
  await client.connect(transport);
  await answered;
}

function endpointOf({ url, org, apiKey }: Tenant, connectionId: string): [URL, { requestInit: RequestInit }] {
  return [
    new URL(pathOf({ org }, connectionId), url),
    { requestInit: { headers: { authorization: `Bearer ${apiKey}` } } },
  ];
}
