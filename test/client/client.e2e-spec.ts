import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Chunk, Signalbox, SignalboxError } from '../../packages/client/src/index.js';
import { startTcpProxy, type TcpProxy, through } from '../support/tcp-proxy.js';
import { type BuiltService, startBuiltService } from './client.support.js';

let service: BuiltService;
let relay: TcpProxy;
let apiKey: string;
let url: string;
let signalbox: Signalbox;
let agentId: string;
let threadId: string;

beforeAll(async () => {
  service = await startBuiltService({ UPSTREAM_ALLOW: '127.0.0.1' });
  ({ url, apiKey } = service);
  relay = await startTcpProxy(url);
  signalbox = new Signalbox({ url: `${url}/`, apiKey });
  agentId = (await signalbox.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } })).item.id;
  threadId = await newThread();
}, 120_000);

afterAll(async () => {
  await service?.close();
  await relay?.close();
});

async function newThread(agent = agentId): Promise<string> {
  const data = { title: 'Thread', virtual_mcp_id: agent };
  return (await signalbox.tool('COLLECTION_THREADS_CREATE', { data })).item.id;
}

/** Goes through a relay that can break its connections. */
const throughRelay = (): Signalbox => new Signalbox({ url: through(relay, url), apiKey });

async function chunksOf(stream: AsyncIterable<Chunk>, onChunk: (chunk: Chunk) => unknown = () => undefined) {
  const chunks: Chunk[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk);
    await onChunk(chunk);
  }
  return chunks;
}

const textOf = (chunks: Chunk[]): string =>
  chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');

describe('the client of packages/client', () => {
  it('types the output of an agent with a schema', async () => {
    const output_schema = { type: 'object' as const, properties: { part: { type: 'string' } } };
    const data = { title: 'Parts', output_schema };
    const { id } = (await signalbox.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data })).item;
    const thread = { data: { title: 'Thread', virtual_mcp_id: id } };
    const on = (await signalbox.tool('COLLECTION_THREADS_CREATE', thread)).item.id;
    const result = await signalbox.ask<{ part: string }>(on, { agentId: id, text: '/json {"part":"axle"}' });
    const part: string | undefined = result.output?.part;
    expect(part).toBe('axle');
    expect((await signalbox.tool('RUN_GET', { id: result.taskId })).item.output).toEqual({ part: 'axle' });
  });

  it('posts a message and waits for its result', async () => {
    const { taskId } = await signalbox.post(threadId, { agentId, text: 'one' });
    expect(await signalbox.wait(taskId)).toMatchObject({ taskId, status: 'completed' });
    const asked = await signalbox.ask(threadId, { agentId, text: 'two' });
    expect(asked).toMatchObject({ status: 'completed', message: { role: 'assistant' }, error: null });
    expect(await signalbox.result(asked.taskId)).toEqual(asked);
  });

  it('streams the answer to a message, and watches it again from a position', async () => {
    const stream = await signalbox.stream(threadId, { agentId, text: '/words 20' });
    let half: string | undefined;
    const chunks = await chunksOf(stream, () => (half ??= stream.lastEventId));
    expect(chunks.at(0)?.type).toBe('start');
    expect(chunks.at(-1)?.type).toBe('finish');
    const { taskId } = stream;
    const again = await signalbox.watch(threadId, { taskId, lastEventId: half });
    expect(await chunksOf(again)).toEqual(chunks.slice(1));
    expect(await signalbox.resume(threadId)).toBeUndefined();
    expect(await (await signalbox.regenerate(threadId)).text()).toBe(textOf(chunks));
  });

  it('steers the run that is under way, or posts', async () => {
    const { taskId } = await signalbox.post(threadId, { agentId, text: '/words 2\n/wait 60000' });
    const steered = await signalbox.steer(threadId, { agentId, text: 'The other one' }, { interrupt: true });
    expect(steered).toEqual({ taskId, steered: true });
    expect(JSON.stringify((await signalbox.wait(taskId)).message?.parts)).toContain('You said: The other one');
    expect(await signalbox.steer(threadId, { agentId, text: 'Next' })).toMatchObject({ steered: false });
  });

  it('cancels a run', async () => {
    const { taskId } = await signalbox.post(threadId, { agentId, text: '/wait 60000' });
    await signalbox.cancel(threadId, { taskId });
    expect((await signalbox.wait(taskId)).status).toBe('cancelled');
  });

  it('yields every item of a list', async () => {
    const on = await newThread();
    for (const text of ['a', 'b', 'c']) await signalbox.ask(on, { agentId, text });
    const roles: string[] = [];
    const input = { thread_id: on, limit: 2 };
    for await (const { role } of signalbox.list('COLLECTION_THREAD_MESSAGES_LIST', input)) roles.push(role);
    expect(roles).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant']);
  });

  it('throws the problem of a refused request', async () => {
    const refused = await signalbox.ask('no-such-thread', { agentId, text: 'x' }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(SignalboxError);
    expect(refused).toMatchObject({ status: 404, code: 'thread_not_found', requestId: expect.any(String) });
    const data = { title: '', virtual_mcp_id: agentId };
    const invalid = await signalbox.tool('COLLECTION_THREADS_CREATE', { data }).catch((error: unknown) => error);
    expect(invalid).toMatchObject({ status: 400, errors: [{ path: 'data.title' }] });
  });

  it('repeats a refused request after a short `Retry-After`, and throws at once before a long one', async () => {
    const pauses = ['0'];
    let calls = 0;
    const client = new Signalbox({
      url,
      apiKey,
      fetch: async (...request) => {
        calls++;
        const pause = pauses.pop();
        return pause === undefined
          ? fetch(...request)
          : new Response('{"code":"spend_limit_reached"}', { status: 429, headers: { 'retry-after': pause } });
      },
    });
    expect((await client.tool('COLLECTION_THREADS_GET', { id: threadId })).item.id).toBe(threadId);
    expect(calls).toBe(2);
    pauses.push('61');
    await expect(client.ask(threadId, { agentId, text: 'x' })).rejects.toMatchObject({
      status: 429,
      code: 'spend_limit_reached',
    });
    expect(calls).toBe(3);
  });

  it('asks a function for the key before each request', async () => {
    const keys = ['sbx_wrong', apiKey];
    const client = new Signalbox({ url, apiKey: () => keys.shift() ?? '' });
    await expect(client.tool('COLLECTION_THREADS_GET', { id: threadId })).rejects.toMatchObject({ status: 401 });
    await expect(client.tool('COLLECTION_THREADS_GET', { id: threadId })).resolves.toMatchObject({
      item: { id: threadId },
    });
  });

  it('continues a stream whose connection breaks, without a gap or a repetition', async () => {
    const text = '/words 30\n/wait 400\n/words 30\n/wait 400\n/words 30';
    const stream = await throughRelay().stream(threadId, { agentId, text });
    let cuts = 0;
    let words = 0;
    const chunks = await chunksOf(stream, async ({ type }) => {
      if (type !== 'text-delta' || ++words % 25 !== 0 || cuts === 3) return;
      cuts++;
      await relay.cut();
      await relay.restore();
    });
    expect(cuts).toBe(3);
    const whole = await signalbox.watch(threadId, { taskId: stream.taskId });
    expect(chunks).toEqual(await chunksOf(whole));
  });

  it('goes on after the given position, although the connection breaks before the first chunk', async () => {
    const on = await newThread();
    const stream = await signalbox.stream(on, { agentId, text: '/words 30\n/wait 600000' });
    for await (const chunk of stream) if (chunk.type === 'text-delta' && chunk.delta.includes('word30')) break;
    const { taskId, lastEventId } = stream;
    const before = await throughRelay().watch(on, { taskId, lastEventId });
    const whole = chunksOf(await signalbox.watch(on, { taskId }));
    await relay.cut();
    const rest = chunksOf(before);
    await relay.restore();
    await signalbox.cancel(on, { taskId });
    const seen = (await whole).length - (await rest).length;
    expect(seen).toBeGreaterThan(0);
    expect(await rest).toEqual((await whole).slice(seen));
  });

  it('posts a message once, although the response is lost', async () => {
    const on = await newThread();
    const asking = throughRelay().ask(on, { agentId, text: '/wait 500\nonce' });
    for (let runs = 0; runs === 0;) runs = (await signalbox.tool('RUN_LIST', { where: byThread(on) })).items.length;
    await relay.cut();
    await relay.restore();
    expect((await asking).status).toBe('completed');
    expect((await signalbox.tool('RUN_LIST', { where: byThread(on) })).items).toHaveLength(1);
  });

  it('does not repeat a call that may have changed something', async () => {
    await relay.cut();
    try {
      const data = { title: 'Once' };
      await expect(throughRelay().tool('COLLECTION_VIRTUAL_MCP_CREATE', { data })).rejects.toThrow('fetch failed');
      const reading = throughRelay().tool('COLLECTION_VIRTUAL_MCP_GET', { id: agentId });
      await relay.restore();
      expect((await reading).item.id).toBe(agentId);
    } finally {
      await relay.restore().catch(() => undefined);
    }
  });
});

const byThread = (id: string) => ({ field: ['thread_id'], operator: 'eq' as const, value: id });
