import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { filePart, Signalbox } from '../../packages/client/src/index.js';
import { eventually } from '../support/eventually.js';
import { startTcpProxy, type TcpProxy, through } from '../support/tcp-proxy.js';
import { png } from '../runtime/files/files.support.js';
import { type BuiltService, startBuiltService } from './client.support.js';

const MIB = 1024 * 1024;

let service: BuiltService;
let signalbox: Signalbox;
let relay: TcpProxy;
let agentId: string;

beforeAll(async () => {
  service = await startBuiltService();
  signalbox = new Signalbox(service);
  relay = await startTcpProxy(service.url);
  agentId = (await signalbox.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } })).item.id;
}, 120_000);
afterAll(async () => {
  await service?.close();
  await relay?.close();
});

async function newThread(): Promise<string> {
  const data = { title: 'Thread', virtual_mcp_id: agentId };
  return (await signalbox.tool('COLLECTION_THREADS_CREATE', { data })).item.id;
}

/** A stream of these bytes in small pieces; without an end, it waits after the last one. */
function streamOf(bytes: Uint8Array, { hasEnd = true } = {}): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent < bytes.length) controller.enqueue(bytes.subarray(sent, (sent += 10_000)));
      else if (hasEnd) controller.close();
    },
  });
}

async function bytesOf(response: Promise<Response>): Promise<Buffer> {
  return Buffer.from(await (await response).arrayBuffer());
}

const fileCount = async (): Promise<number> => (await signalbox.tool('FILE_LIST', {})).totalCount;

describe('an upload', () => {
  it.each([
    ['bytes', (bytes: Buffer) => bytes],
    ['a Blob', (bytes: Buffer) => new Blob([Uint8Array.from(bytes)])],
    ['a stream', (bytes: Buffer) => streamOf(bytes)],
  ])('of %s stores them', async (_, sourceOf) => {
    const bytes = randomBytes(300_000);
    const item = await signalbox.files.upload(sourceOf(bytes), { mediaType: 'application/x-own', filename: 'a.own' });
    expect(item).toMatchObject({ media_type: 'application/x-own', filename: 'a.own', size: bytes.length });
    const response = await signalbox.files.download(item.id);
    expect(response.headers.get('content-type')).toBe('application/x-own');
    expect(bytes.equals(Buffer.from(await response.arrayBuffer()))).toBe(true);
    expect((await signalbox.tool('FILE_DELETE', { id: item.id })).item).toEqual(item);
    await expect(signalbox.files.download(item.id)).rejects.toMatchObject({ status: 404, code: 'not_found' });
  });

  it('has the type and the name of a File, unless others are given', async () => {
    const file = new File(['a;b'], `Größe 'neu' (1)*.csv`, { type: 'text/csv' });
    expect(await signalbox.files.upload(file)).toMatchObject({ media_type: 'text/csv', filename: file.name });
    const named = await signalbox.files.upload(file, { mediaType: 'text/plain', filename: '列車.txt' });
    expect(named).toMatchObject({ media_type: 'text/plain', filename: '列車.txt' });
    expect(await signalbox.files.upload(png())).toMatchObject({ media_type: 'image/png', filename: null });
  });

  it.each([
    ['bytes', () => Buffer.alloc(15 * MIB)],
    ['a stream', () => streamOf(Buffer.alloc(15 * MIB))],
  ])('of %s under a wrong type is refused, long before its end', async (_, source) => {
    const uploading = signalbox.files.upload(source(), { mediaType: 'image/png' });
    await expect(uploading).rejects.toMatchObject({ status: 400, code: 'file_type_mismatch' });
  });

  it('of too much is refused', async () => {
    const uploading = signalbox.files.upload(streamOf(Buffer.alloc(30 * MIB)));
    await expect(uploading).rejects.toMatchObject({ status: 413, code: 'body_too_large' });
  });

  it('that is aborted leaves nothing', async () => {
    const [before, connections] = [await fileCount(), relay.connections()];
    const distant = new Signalbox({ ...service, url: through(relay, service.url) });
    const aborter = new AbortController();
    const source = streamOf(Buffer.alloc(300_000), { hasEnd: false });
    const uploading = distant.files.upload(source, { signal: aborter.signal });
    await eventually(() => expect(relay.connections()).toBe(connections + 1));
    aborter.abort(new Error('not this one'));
    await expect(uploading).rejects.toThrow('not this one');
    expect(await fileCount()).toBe(before);
  });

  it('is repeated after 429 if its bytes are still there, and never after a failure', async () => {
    const answers: (() => Response)[] = [];
    let requests = 0;
    const refusing: typeof fetch = async (...request) => {
      requests++;
      return answers.shift()?.() ?? fetch(...request);
    };
    const client = new Signalbox({ ...service, fetch: refusing });
    const limited = (): Response => Response.json({ code: 'rate_limited' }, { status: 429 });

    answers.push(limited);
    expect(await client.files.upload(new Blob(['again']))).toMatchObject({ size: 5 });
    expect(requests).toBe(2);
    answers.push(limited);
    await expect(client.files.upload(streamOf(Buffer.from('once')))).rejects.toMatchObject({ code: 'rate_limited' });
    expect(requests).toBe(3);
    answers.push(() => {
      throw new TypeError('fetch failed');
    });
    await expect(client.files.upload(new Blob(['lost']))).rejects.toThrow('fetch failed');
    expect(requests).toBe(4);
  });
});

describe('a download', () => {
  it('can be of a part', async () => {
    const bytes = randomBytes(400_000);
    const { id } = await signalbox.files.upload(bytes);
    const part = await signalbox.files.download(id, { range: { start: 260_000, end: 270_000 } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 260000-269999/400000']);
    expect(bytes.subarray(260_000, 270_000).equals(Buffer.from(await part.arrayBuffer()))).toBe(true);
    const rest = await bytesOf(signalbox.files.download(id, { range: { start: 399_990 } }));
    expect(rest.equals(bytes.subarray(399_990))).toBe(true);
    const past = signalbox.files.download(id, { range: { start: 400_000 } });
    await expect(past).rejects.toMatchObject({ status: 416, code: 'range_not_satisfiable' });
    for (const range of [{ start: 5, end: 5 }, { start: -5 }, { start: 0.5 }, { start: 0, end: NaN }]) {
      await expect(signalbox.files.download(id, { range })).rejects.toThrow(RangeError);
    }
  });

  it('ends with its signal', async () => {
    const { id } = await signalbox.files.upload(Buffer.alloc(15 * MIB));
    const aborter = new AbortController();
    const response = await signalbox.files.download(id, { signal: aborter.signal });
    aborter.abort(new Error('enough'));
    await expect(response.arrayBuffer()).rejects.toThrow('enough');
  });

  it('throws if the connection breaks, and can be continued', async () => {
    const bytes = randomBytes(15 * MIB);
    const { id } = await signalbox.files.upload(bytes);
    const distant = new Signalbox({ ...service, url: through(relay, service.url) });
    const pieces: Uint8Array[] = [];
    const reading = async (): Promise<void> => {
      for await (const piece of (await distant.files.download(id)).body ?? []) {
        pieces.push(piece);
        await relay.cut();
      }
    };
    await expect(reading()).rejects.toThrow('terminated');
    await relay.restore();
    const start = pieces.reduce((sum, { length }) => sum + length, 0);
    const rest = await bytesOf(distant.files.download(id, { range: { start } }));
    expect(bytes.equals(Buffer.concat([...pieces, rest]))).toBe(true);
  });
});

describe('a message with a file', () => {
  it('names it ahead of its text, and the run gets it', async () => {
    const file = await signalbox.files.upload(png(), { filename: 'Zug.png' });
    const threadId = await newThread();
    const result = await signalbox.ask(threadId, { agentId, text: 'What is this?', files: [file] });
    expect(JSON.stringify(result.message?.parts)).toContain('[Zug.png, image/png]');
    const { items } = await signalbox.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId });
    expect(items[0]?.parts).toMatchObject([
      { type: 'file', mediaType: 'image/png', filename: 'Zug.png' },
      { type: 'text', text: 'What is this?' },
    ]);
  });

  it('can have nothing else', async () => {
    const parts = [filePart(await signalbox.files.upload(png()))];
    const request = { messages: [{ role: 'user' as const, parts }], agent: { id: agentId } };
    const result = await signalbox.ask(await newThread(), request);
    expect(JSON.stringify(result.message?.parts)).toContain('image/png');
  });

  it('can be posted with the token of its thread, which opens no other file', async () => {
    const threadId = await newThread();
    const { token } = await signalbox.tool('THREAD_TOKEN_CREATE', {
      thread_id: threadId,
      permissions: ['read', 'post'],
    });
    const visitor = new Signalbox({ ...service, apiKey: token });
    const file = await visitor.files.upload(new File(['mine'], 'mine.txt', { type: 'text/plain' }));
    const result = await visitor.ask(threadId, { agentId, text: 'Read it', files: [file] });
    expect(result.status).toBe('completed');
    expect((await bytesOf(visitor.files.download(file.id))).toString()).toBe('mine');
    const other = await signalbox.files.upload(new Blob(['not yours']));
    await expect(visitor.files.download(other.id)).rejects.toMatchObject({ status: 404 });
  });
});
