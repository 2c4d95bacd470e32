import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { connect } from '../support/agent-runs.js';
import { newTenant } from '../support/tenant.js';
import { openLegacyClient, openModernClient, type Endpoint, type FieldClient } from '../support/field-clients.js';
import {
  legacyServer,
  sendResult,
  startScripted,
  type Script,
  type ScriptedServer,
  type SeenRequest,
} from '../support/scripted-upstream.js';
import { eventually } from '../support/eventually.js';
import { useStarted } from '../support/use-started.js';

const TOOLS = [{ name: 'slow', description: 'Never answers', inputSchema: { type: 'object' } }];

const app = useStarted(newTenant);
let upstream: ScriptedServer | undefined;
let client: FieldClient | undefined;

afterEach(async () => {
  await client?.close();
  await upstream?.close();
});

/** Lists one tool and never answers its calls. */
function neverAnswers({ message }: SeenRequest, response: ServerResponse): void {
  if (message.method === 'tools/list') sendResult(response, message, { tools: TOOLS });
}

/** The same in the modern era. */
function neverAnswersStateless({ message }: SeenRequest, response: ServerResponse): void {
  const kept = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  if (message.method === 'server/discover') {
    const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
    sendResult(response, message, { ...kept, ...discovered });
  }
  if (message.method === 'tools/list') sendResult(response, message, { ...kept, tools: TOOLS });
}

function seen(method: string): Promise<SeenRequest> {
  return eventually(() => upstream?.calls(method)[0] ?? false);
}

/** Starts a call of the slow tool, and returns how to cancel it once it has reached the upstream. */
async function slowCall(script: Script, open: (endpoint: Endpoint) => Promise<FieldClient>) {
  upstream = await startScripted(script);
  const connectionId = await connect(app, upstream.url);
  client = await open({ url: `${app.url}/api/${app.org}/mcp/${connectionId}`, apiKey: app.apiKey });
  const abort = new AbortController();
  const call = client.callTool('slow', {}, { signal: abort.signal });
  // The rejection is handled below; before that, an unhandled one would end the process.
  call.catch(() => undefined);
  return { call, request: await seen('tools/call'), cancel: () => abort.abort(new Error('Enough')) };
}

describe('a client that cancels a call', () => {
  it.each([
    ['@modelcontextprotocol/sdk 1.32', openLegacyClient],
    ['@modelcontextprotocol/client 2.4', openModernClient],
  ])('cancels the call at the upstream under its id there (%s)', async (_title, open) => {
    const { call, request, cancel } = await slowCall(legacyServer(neverAnswers).script, open);
    cancel();
    await expect(call).rejects.toThrow();

    const { message } = await seen('notifications/cancelled');
    expect(message.params).toMatchObject({ requestId: request.message.id });
  });

  it('closes the response at the upstream in the modern era', async () => {
    const { call, request, cancel } = await slowCall(neverAnswersStateless, (endpoint) =>
      openModernClient(endpoint, 'auto'),
    );
    cancel();
    await expect(call).rejects.toThrow();

    expect(await request.hungUp).toBe(true);
  });
});

describe('an upstream that disconnects while its tools are listed for several callers', () => {
  it('does not affect other work', async () => {
    let lists = 0;
    const { script } = legacyServer(({ message }, response) => {
      // The first list is the session's own; later requests are never answered.
      if (message.method === 'tools/list' && ++lists === 1) sendResult(response, message, { tools: TOOLS });
      if (message.method === 'tools/call') sendResult(response, message, { content: [] });
    });
    upstream = await startScripted(script);
    const connectionId = await connect(app, upstream.url);
    client = await openLegacyClient({ url: `${app.url}/api/${app.org}/mcp/${connectionId}`, apiKey: app.apiKey });
    expect(await client.callTool('slow')).toEqual({ content: [] });

    await upstream.close();
    upstream = undefined;
    // An unhandled rejection would end the process, and with it this test.
    await sleep(200);
    expect((await app.tool('COLLECTION_CONNECTIONS_GET', { id: connectionId })).status).toBe(200);
  });
});
