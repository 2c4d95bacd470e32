import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { TestApp } from './app.js';
import { pathOf } from './proxy-calls.js';

/** The revision of the modern era. */
export const MODERN = '2026-07-28';

/** A client that speaks the modern era only, connected through the proxy. */
export async function openModern(app: TestApp, connectionId: string, capabilities: object = {}): Promise<Client> {
  const versionNegotiation = { mode: { pin: MODERN } };
  const client = new Client({ name: 'modern', version: '1' }, { capabilities, versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(...endpointOf(app, connectionId)));
  return client;
}

/** A client that speaks the legacy era only, connected through the proxy, with its transport. */
export async function openLegacy(
  app: TestApp,
  connectionId: string,
  capabilities: object = {},
): Promise<{ client: LegacyClient; transport: LegacyTransport }> {
  const client = new LegacyClient({ name: 'legacy', version: '1' }, { capabilities });
  const transport = new LegacyTransport(...endpointOf(app, connectionId));
  await client.connect(transport);
  return { client, transport };
}

function endpointOf({ url, apiKey }: TestApp, connectionId: string): [URL, { requestInit: RequestInit }] {
  return [new URL(pathOf(connectionId), url), { requestInit: { headers: { authorization: `Bearer ${apiKey}` } } }];
}
