import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestApp, type TestApp } from '../../support/app.js';
import { agentOf, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../../support/scripted-upstream.js';

const TOOLS = 4_000;
const AGENTS = 99;

let app: TestApp;
let upstream: ScriptedServer;
let outer: string;
let single: string;

beforeAll(async () => {
  app = await startTestApp();
  const tools = Array.from({ length: TOOLS }, (_, n) => ({ name: `tool_${n}`, inputSchema: { type: 'object' } }));
  upstream = await startScripted(
    legacyServer(({ message }, response) => sendResult(response, message, { tools })).script,
  );
  const connection = await connectTo(app, upstream.url);
  single = await agentOf(app, [connection]);
  const inner: string[] = [];
  for (let n = 0; n < AGENTS; n++) inner.push(await agentOf(app, [connection], { title: `Inner ${n}` }));
  outer = await agentOf(app, inner);
  await listThrough(app, gatewayPath(app, outer));
}, 120_000);
afterAll(async () => {
  await app?.close();
  await upstream?.close();
});

/** The processor time of this thread, which has the service, for the work in milliseconds. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

it('many agents within one over a large upstream have at most as many tools as one agent, and report what is missing', async () => {
  const { names, unavailable } = await listThrough(app, gatewayPath(app, outer));
  expect(names.length).toBeGreaterThan(0);
  expect(names.length).toBeLessThanOrEqual(10_000);
  expect(unavailable.length).toBeGreaterThan(0);
});

it('repeated lists of a key without any grant stay cheap', async () => {
  const key = await keyWith(app, {});
  const repeated = async (path: string): Promise<void> => {
    // Longer than a composition is cached.
    const end = performance.now() + 3_000;
    for (let asked = 0; performance.now() < end || asked < 20; asked++) {
      expect((await listThrough(app, path, key)).names).toEqual([]);
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  };
  const ofOne = await cpuOf(() => repeated(gatewayPath(app, single)));
  const ofMany = await cpuOf(() => repeated(gatewayPath(app, outer)));
  expect(ofMany).toBeLessThan(ofOne * 4 + 500);
}, 60_000);

it('concurrent requests share one composition', async () => {
  const key = await keyWith(app, {});
  const once = await cpuOf(() => listThrough(app, gatewayPath(app, outer), key));
  const asked = Array.from({ length: 20 }, () => listThrough(app, gatewayPath(app, outer), key));
  expect(await cpuOf(() => Promise.all(asked))).toBeLessThan(once * 5 + 500);
});
