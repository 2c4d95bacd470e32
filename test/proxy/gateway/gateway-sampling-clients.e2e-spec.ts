import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { type EverythingServer, startEverything } from '../../support/everything-server.js';
import { type FieldClient, openLegacyClient, openModernClient } from '../../support/field-clients.js';
import { FLOWS } from '../../support/field-flows.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { connectTo } from '../../support/proxy-connections.js';

let app: Tenant;
let everything: EverythingServer;

beforeAll(async () => {
  everything = await startEverything();
  app = await newTenant();
});
afterAll(async () => {
  await app?.close();
  await everything?.close();
});

/** Sorts a list, because an agent sorts by name. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const byName = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, Array.isArray(member) ? member.toSorted(byName) : member]),
  );
}

/** An agent makes the tasks of its tools itself. */
function withoutTasks(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll('"taskSupport":"required"', '"taskSupport":"forbidden"'));
}

describe.each([
  ['@modelcontextprotocol/sdk 1.32', openLegacyClient],
  ['@modelcontextprotocol/client 2.4', openModernClient],
])('%s, at an agent over server-everything', (_title, open) => {
  let direct: FieldClient;
  let proxied: FieldClient;
  beforeAll(async () => {
    const agent = await agentOf(app, [await connectTo(app, everything.url)]);
    direct = await open({ url: everything.url });
    proxied = await open({ url: app.url + gatewayPath(app, agent), apiKey: app.apiKey });
  });
  afterAll(async () => {
    await direct?.close();
    await proxied?.close();
  });

  it.each(FLOWS)('$title', async ({ run }) => {
    const expected = withoutTasks(sorted(await run(direct)));
    expect(sorted(await run(proxied))).toEqual(expected);
  });

  it('gets requests of two connections at once, and each gets its own answer', async () => {
    const members = [await connectTo(app, everything.url, { title: 'Left' }), await connectTo(app, everything.url)];
    const client = await open({ url: app.url + gatewayPath(app, await agentOf(app, members)), apiKey: app.apiKey });
    const names = (await client.listTools()).tools.map(({ name }) => name);
    const asking = names.filter((name) => name.endsWith('trigger-sampling-request'));
    expect(asking).toHaveLength(2);
    const results = await Promise.all(asking.map((name) => client.callTool(name, { prompt: `for ${name}` })));
    for (const result of results) expect(JSON.stringify(result)).toContain('The answer of the model');
    expect(client.asked.map((params) => JSON.stringify(params)).toSorted()).toEqual([
      expect.stringContaining(`for ${asking.toSorted()[0]}`),
      expect.stringContaining(`for ${asking.toSorted()[1]}`),
    ]);
    await client.close();
  });
});
