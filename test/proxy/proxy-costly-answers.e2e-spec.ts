import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { succeed } from '../support/agent-runs.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { modernRequest } from '../support/era-clients.js';
import { type AnswerScript, type ProxiedUpstream, startProxiedUpstream } from '../support/proxied-upstream.js';
import { callProxy, errorIn, pathOf, rpc, TAKES_JSON, TAKES_STREAMS, toolCall } from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import { JSON_TYPE, SSE_TYPE } from '../support/scripted-upstream.js';

let proxied: ProxiedUpstream<TestApp>;
let app: TestApp;

beforeAll(async () => {
  proxied = await startProxiedUpstream(startTestApp);
  ({ app } = proxied);
});
afterAll(() => proxied?.close());

const MIB = 1024 * 1024;
/** Arrays whose parsing would block the process or exhaust its stack. */
const COSTLY = [
  ['too many values', `[${'{},'.repeat((24 * MIB) / 3)}1]`],
  ['too much text', `["${'x'.repeat(24 * MIB)}"]`],
  ['too much depth', '['.repeat(100_000) + ']'.repeat(100_000)],
] as const;

const inTool = (array: string): string => `{"tools":[{"name":"fine","inputSchema":{"type":"object","enum":${array}}}]}`;
const inResult = (array: string): string => `{"content":[],"structuredContent":{"all":${array}}}`;

const answering =
  (type: Record<string, string>, result: string): AnswerScript =>
  (response, { id }) => {
    const [before, after] = type === SSE_TYPE ? ['data: ', '\n\n'] : ['', ''];
    response.writeHead(200, type);
    response.end(`${before}{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}${after}`);
  };

/** The processor time of this thread, which has the service, since it was read before, in milliseconds. */
function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** How long the work kept the event loop from its next turn, in milliseconds of processor time. */
async function longestHold(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let before = process.threadCpuUsage();
  const look = (): void => {
    longest = Math.max(longest, cpuSince(before));
    before = process.threadCpuUsage();
  };
  const looking = setInterval(look, 1);
  try {
    await work();
  } finally {
    clearInterval(looking);
  }
  look();
  return longest;
}

function timeToParse(text: string): number {
  const before = process.threadCpuUsage();
  JSON.parse(text);
  return cpuSince(before);
}

describe.each(COSTLY)('an upstream that answers with %s', (_what, array) => {
  // Each uses another connection, because repeated failures open the breaker.
  const prepare = async () => {
    const connectionId = await connectTo(app, proxied.upstream.url);
    const key = await keyWith(app, { [connectionId]: ['fine'] });
    const path = pathOf(app, connectionId);
    expect((await callProxy(app, path, { key, headers: TAKES_STREAMS, body: toolCall('fine') })).status).toBe(200);
    return { connectionId, key, path };
  };

  describe.each([
    ['JSON', JSON_TYPE],
    ['a stream', SSE_TYPE],
  ])('in %s', (_form, type) => {
    it.each([
      ['a list that is filtered', () => ({ headers: TAKES_STREAMS, body: rpc('tools/list') })],
      ['a list that is translated', () => modernRequest('tools/list')],
    ])('is not parsed for %s', async (_reason, request) => {
      const { key, path } = await prepare();
      const answer = await proxied.whileListing(answering(type, inTool(array)), () =>
        callProxy(app, path, { key, ...request() }),
      );
      expect(errorIn(answer)?.data.code).toBe('upstream_protocol');
    });

    it('is not parsed for a translated call', async () => {
      const { key, path } = await prepare();
      const answer = await proxied.whileCalling(answering(type, inResult(array)), () =>
        callProxy(app, path, { key, ...modernRequest('tools/call', { name: 'fine', arguments: {} }) }),
      );
      expect(errorIn(answer)?.data.code).toBe('upstream_protocol');
    });

    it('is not parsed for a connection test', async () => {
      const { connectionId } = await prepare();
      const found = await proxied.whileListing(answering(type, inTool(array)), () =>
        succeed(app, 'CONNECTION_TEST', { id: connectionId }),
      );
      expect(found).toMatchObject({ ok: false, error: expect.stringContaining('more than the service accepts') });
    });

    it('reaches a caller of the same era', async () => {
      const { key, path } = await prepare();
      const answer = await proxied.whileCalling(answering(type, inResult(array)), () =>
        callProxy(app, path, { key, headers: TAKES_STREAMS, body: toolCall('fine') }),
      );
      expect(answer.status).toBe(200);
      expect(answer.text.includes(inResult(array))).toBe(true);
    });
  });

  it('is not buffered for a caller that does not accept a stream', async () => {
    const { key, path } = await prepare();
    const answer = await proxied.whileCalling(answering(SSE_TYPE, inResult(array)), () =>
      callProxy(app, path, { key, headers: TAKES_JSON, body: toolCall('fine') }),
    );
    expect(errorIn(answer)?.data.code).toBe('upstream_protocol');
  });
});

it('answers of an upstream do not block other callers', async () => {
  const connectionId = await connectTo(app, proxied.upstream.url);
  const [, array] = COSTLY[0];
  const result = inResult(array);
  const hold = await longestHold(async () => {
    await proxied.whileCalling(answering(JSON_TYPE, result), () =>
      callProxy(app, pathOf(app, connectionId), {
        key: app.apiKey,
        ...modernRequest('tools/call', { name: 'fine', arguments: {} }),
      }),
    );
  });
  expect(hold).toBeLessThan(timeToParse(result) / 2);
});
