import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AnswerBudget } from '../../src/core/answers/answer-budget.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { type AnswerScript, type ProxiedUpstream, RESULT, startProxiedUpstream } from '../support/proxied-upstream.js';
import {
  callProxy,
  openProxy,
  pathOf,
  type ProxyAnswer,
  rpc,
  rpcOf,
  TAKES_STREAMS,
  toolCall,
} from '../support/proxy-calls.js';
import { auditOf, connectTo, keyWith } from '../support/proxy-connections.js';
import { flood, JSON_TYPE, type ScriptedServer, sendResult, SSE_TYPE } from '../support/scripted-upstream.js';

let proxied: ProxiedUpstream<TestApp>;
let app: TestApp;
let upstream: ScriptedServer;

beforeAll(async () => {
  proxied = await startProxiedUpstream(startTestApp);
  ({ app, upstream } = proxied);
});
afterAll(() => proxied?.close());

describe('an upstream that sends endlessly', () => {
  it('cannot exceed the limit on a list of tools', async () => {
    const connectionId = await connectTo(app, upstream.url);
    const key = await keyWith(app, { [connectionId]: ['fine'] });
    let sent = 0;
    const script: AnswerScript = (response) => {
      sent = 0;
      flood(response, JSON_TYPE, 'x'.repeat(65_536), (bytes) => (sent += bytes));
    };
    const answer = await proxied.whileListing(script, () =>
      callProxy(app, pathOf(app, connectionId), { key, body: rpc('tools/list') }),
    );
    expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
      status: 500,
      code: 'upstream_protocol',
    });
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  it('cannot make the service buffer an event that is too large for one body', async () => {
    const answer = await proxied.calledWith((response) => flood(response, SSE_TYPE, `data: ${'x'.repeat(65_536)}`));
    expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
      status: 500,
      code: 'upstream_protocol',
    });
  });
});

describe('a result of 100 MB', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;

  /** The bytes that are still in memory. */
  function memoryInUse(): number {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  }

  const PIECE = 'x'.repeat(1_000_000);
  const PIECES = 100;

  it.each([
    ['JSON', JSON_TYPE, '', ''],
    ['a stream', SSE_TYPE, 'data: ', '\n\n'],
  ])(
    'passes through call-tool with flat memory: %s',
    async (_form, type, before, after) => {
      const path = await proxied.connected();
      const script: AnswerScript = async (response, { id }) => {
        const head = `${before}{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"`;
        response.writeHead(200, type).write(head);
        for (let i = 0; i < PIECES; i++) if (!response.write(PIECE)) await once(response, 'drain');
        response.end(`"}]}}${after}`);
      };
      await proxied.whileCalling(script, async () => {
        const requested = { key: app.apiKey, headers: TAKES_STREAMS, body: {} };
        const response = await openProxy(app, `${path}/call-tool/fine`, requested);
        let size = 0;
        let last = '';
        const memoryAtStart = memoryInUse();
        let growth = 0;
        let looked = 0;
        for await (const chunk of response as AsyncIterable<Buffer>) {
          size += chunk.length;
          last = (last + chunk.subarray(-64).toString()).slice(-64);
          if (size - looked < 10_000_000) continue;
          looked = size;
          growth = Math.max(growth, memoryInUse() - memoryAtStart);
        }
        expect(response.statusCode).toBe(200);
        expect(size).toBeGreaterThan(PIECES * PIECE.length);
        expect(last.trimEnd()).toMatch(/x"\}\]\}\}$/);
        // Upstream, service and caller are all in this process: if only one of them held the result, it would grow by
        // 100 MB.
        expect(looked).toBeGreaterThan(90_000_000);
        expect(growth).toBeLessThan(70_000_000);
        expect(await auditOf(app, String(response.headers['x-request-id']))).toMatchObject({ status: 'success' });
      });
      // Garbage collections take long in a process that has run many specs.
    },
    120_000,
  );
});

describe('complete answers during sending', () => {
  /** Takes answer memory until less than this is left for each organization. Returns how to release it. */
  function takeAllBut(bytes: number): () => void {
    const budget = app.app.get(AnswerBudget, { strict: false });
    const answers = Array.from({ length: 100 }, (_, n) =>
      budget.openAnswer({ organization: { id: `o${n}` }, callerId: 'k' }),
    );
    for (const answer of answers) {
      try {
        for (;;) answer.reserve(bytes);
      } catch {
        // The next organization gets half of what is left.
      }
    }
    return () => answers.forEach((answer) => answer.release());
  }

  it('are refused while others use the memory, unless they are small', async () => {
    const path = await proxied.connected();
    const answersOf = (length: number): Promise<ProxyAnswer> =>
      proxied.whileCalling(
        (response, { id }) => {
          const result = { content: [{ type: 'text', text: 'x'.repeat(length) }] };
          response.writeHead(200, SSE_TYPE).end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
        },
        // A caller who does not accept an event stream gets one body.
        () => callProxy(app, path, { key: app.apiKey, body: toolCall('fine') }),
      );
    const giveBack = takeAllBut(50_000);
    try {
      const refused = await answersOf(100_000);
      expect({ status: refused.status, code: rpcOf(refused).error?.data.code }).toEqual({
        status: 503,
        code: 'answer_memory_exhausted',
      });
      expect(refused.headers['retry-after']).toBe('1');
      expect((await answersOf(1_000)).status).toBe(200);
    } finally {
      giveBack();
    }
    expect((await answersOf(100_000)).status).toBe(200);
    expect(app.app.get(AnswerBudget, { strict: false }).heldBytes).toBe(0);
  });
});

describe('10,000 tools', () => {
  it('can be listed and called', async () => {
    const many = Array.from({ length: 10_000 }, (_, n) => ({
      name: `tool_${n}`,
      description: `Number ${n}`,
      inputSchema: { type: 'object', properties: { n: { type: 'integer' } } },
    }));
    const script: AnswerScript = (response, message) => sendResult(response, message, { tools: many });
    await proxied.whileListing(script, async () => {
      const connectionId = await connectTo(app, upstream.url);
      const key = await keyWith(app, { [connectionId]: ['tool_7', 'tool_9999', 'tool_10000'] });
      const all = await callProxy(app, pathOf(app, connectionId), { key: app.apiKey, body: rpc('tools/list') });
      expect(rpcOf(all).result?.tools).toHaveLength(10_000);
      const some = await callProxy(app, pathOf(app, connectionId), { key, body: rpc('tools/list') });
      expect(rpcOf(some).result?.tools?.map(({ name }) => name)).toEqual(['tool_7', 'tool_9999']);
      const call = await callProxy(app, pathOf(app, connectionId), { key, body: toolCall('tool_9999', { n: 1 }) });
      expect(rpcOf(call).result).toEqual(RESULT);
      const unknown = await callProxy(app, pathOf(app, connectionId), { key, body: toolCall('tool_10000') });
      expect(rpcOf(unknown).error?.data.code).toBe('unknown_tool');
    });
  });
});
