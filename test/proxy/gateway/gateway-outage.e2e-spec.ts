import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { ThreadClient } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { agentOf, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { callProxy, rpc, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { auditOf, connectTo } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { legacyServer, sendResult } from '../../support/scripted-upstream.js';
import { startTcpProxy, type TcpProxy, through } from '../../support/tcp-proxy.js';
import { Upstreams } from '../../support/upstreams.js';

const AWAY_MS = 3_000;
/** Longer than the time limit for writing the record of a call. */
const LONG_AWAY_MS = 10_000;
/** The time limit of tests that wait that long, on a busy machine. */
const TEST_MS = 60_000;
const NAMES = ['inner_echo', 'left_echo', 'only'];

const upstreams = new Upstreams();
let database: TestDatabase;
let relay: TcpProxy;
let app: TestService;
let agentId: string;
let path: string;

beforeAll(async () => {
  database = await createTestDatabase();
  relay = await startTcpProxy(database.url);
  const env = { RUN_LOCK_MS: '3000' };
  app = await startTestService({ env, database: { url: through(relay, database.url), drop: () => database.drop() } });
  const inner = await agentOf(app, [await upstreams.connection(app, 'Member', 'echo')], { title: 'Inner' });
  agentId = await agentOf(app, [inner, await upstreams.connection(app, 'Left', 'echo', 'only')]);
  path = gatewayPath(app, agentId);
  expect((await listThrough(app, path)).names).toEqual(NAMES);
});
afterAll(async () => {
  await app?.close();
  await relay?.close();
  await database?.drop();
  await upstreams.close();
});

interface Outcome {
  status: number;
  requestId: string;
  code: string | undefined;
}

async function ask(body: object, expected: object): Promise<Outcome> {
  const answer = await callProxy(app, path, { key: app.apiKey, body });
  const { result, error } = rpcOf(answer);
  if (answer.status === 200) expect(result).toEqual(expected);
  return { status: answer.status, requestId: String(answer.headers['x-request-id']), code: error?.data.code };
}

const call = (n: number): Promise<Outcome> =>
  ask(toolCall('inner_echo', { text: `m${n}` }, n), { content: [{ type: 'text', text: `echo says m${n}` }] });

/** Expects all tools or an error: a list never omits tools that could not be looked up. */
const list = (n: number): Promise<Outcome> =>
  ask(rpc('tools/list', undefined, n), { tools: NAMES.map((name) => expect.objectContaining({ name })) });

const open = (n: number): Promise<Outcome> => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  return ask(rpc('initialize', params, n), expect.objectContaining({ protocolVersion: '2025-11-25' }));
};

describe(`a database that is unavailable for ${AWAY_MS} ms, while callers use a gateway and a run uses its tools`, () => {
  it('causes only delays or 503, loses neither a record nor a run, and recovers', async () => {
    const thread = await ThreadClient.create(app, agentId);
    const taskId = await thread.postMessage(
      'Soon\n/wait 1000\n/call inner_echo {"text":"hello"}\n/call only {"text":"x"}',
    );
    await eventually(async () => expect(JSON.stringify(await thread.messages())).toContain('You said: Soon'));

    await relay.cut();
    // However slow the requests are, the outage is shorter than the time limit for writing the record of a call.
    const restored = sleep(AWAY_MS).then(() => relay.restore());
    const asked: { calls: Promise<Outcome>[]; others: Promise<Outcome>[] } = { calls: [], others: [] };
    for (let n = 1; n <= AWAY_MS / 100; n++) {
      asked.calls.push(call(n));
      asked.others.push(list(n), open(n));
      await sleep(100);
    }
    await restored;
    const [calls, others] = [await Promise.all(asked.calls), await Promise.all(asked.others)];
    for (const { status, code } of [...calls, ...others]) {
      expect([200, 503]).toContain(status);
      if (status === 503) expect(code).toBe('storage_unavailable');
    }
    expect([...calls, ...others].some(({ status }) => status === 503)).toBe(true);

    await eventually(async () => expect((await call(1000)).status).toBe(200));
    // No upstream was unavailable, so none is reported.
    expect(await listThrough(app, path)).toMatchObject({ names: NAMES, unavailable: [] });
    // Every answered call is recorded; `auditOf` fails if it is recorded twice.
    for (const { requestId } of calls.filter(({ status }) => status === 200)) {
      expect(await auditOf(app, requestId)).toMatchObject({ status: 'success', agent_id: agentId, door: 'gateway' });
    }

    await thread.waitFor(taskId, 'completed');
    const { parts } = await thread.expectWhole(taskId, await thread.collect(taskId));
    const content = (text: string): object => ({ output: { content: [{ text }] } });
    expect(parts.filter((part) => 'toolCallId' in part)).toMatchObject([
      { toolName: 'inner_echo', ...content('echo says hello') },
      { toolName: 'only', ...content('only says x') },
    ]);
  });
});

describe(`a database that is unavailable for ${LONG_AWAY_MS} ms, while a run calls a tool that must not be called twice`, () => {
  it(
    'gives the model an unknown outcome, and the run continues',
    async () => {
      const isCut = Promise.withResolvers<void>();
      const { script } = legacyServer(async ({ message }, response) => {
        if (message.method === 'tools/call') {
          await isCut.promise;
          sendResult(response, message, { content: [{ type: 'text', text: 'sent' }] });
          return;
        }
        sendResult(response, message, { tools: [{ name: 'send', inputSchema: { type: 'object' } }] });
      });
      const server = await upstreams.scripted(script);
      const thread = await ThreadClient.create(app, await agentOf(app, [await connectTo(app, server.url)]));
      const taskId = await thread.postMessage('/call send {}\nand on');
      await eventually(() => expect(server.calls('tools/call')).toHaveLength(1));
      await relay.cut();
      isCut.resolve();
      await sleep(LONG_AWAY_MS);
      await relay.restore();
      await eventually(async () => expect((await app.tool('RUN_GET', { id: taskId })).status).toBe(200));
      await thread.waitFor(taskId, 'completed');
      const { parts } = await thread.expectWhole(taskId, await thread.collect(taskId));
      const errorText = expect.stringContaining('outcome is unknown');
      expect(parts.filter((part) => 'toolCallId' in part)).toMatchObject([{ state: 'output-error', errorText }]);
      expect(server.calls('tools/call')).toHaveLength(1);
    },
    TEST_MS,
  );
});
