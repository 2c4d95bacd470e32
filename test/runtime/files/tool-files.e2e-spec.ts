import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FileUIPart, UIMessage } from 'ai';
import { serveTier, succeed, ThreadClient, unsigned } from '../../support/agent-runs.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { agentOf } from '../../support/gateway-agents.js';
import { connectTo } from '../../support/proxy-connections.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { download, png, uploaded } from './files.support.js';

const base64 = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64');
const PDF = base64('%PDF-1.7\n%%EOF\n');

let app: Tenant;
let fake: FakeOpenAI;
let upstream: ScriptedServer;
let thread: ThreadClient;
/** What the tool `look` answers with. */
let content: object[];

beforeAll(async () => {
  [app, fake] = [await newTenant(), await startFakeOpenAI()];
  await serveTier(app, 'thinking', fake, { model: 'fake-model' });
  upstream = await startScripted(
    legacyServer(({ message }, response) => {
      const tools = [{ name: 'look', inputSchema: { type: 'object' } }];
      sendResult(response, message, message.method === 'tools/list' ? { tools } : { content });
    }).script,
  );
});
afterAll(async () => {
  await Promise.all([fake?.close(), upstream?.close()]);
  await app?.close();
});
beforeEach(async () => {
  thread = await ThreadClient.create(app, await agentOf(app, [await connectTo(app, upstream.url)]));
  fake.requests.length = 0;
});

/** Asks the model, which calls the tool once; returns the answer as it is stored. */
async function look(): Promise<UIMessage['parts']> {
  fake.script({ kind: 'tool-calls', calls: [{ name: 'look', arguments: {} }] });
  const { taskId, ...collected } = await thread.ask('Look.', { tier: 'thinking' });
  const { parts } = await thread.expectWhole(taskId, collected);
  expect(await thread.run(taskId)).toMatchObject({ status: 'completed', error: null });
  return parts as UIMessage['parts'];
}

const filesOf = (parts: UIMessage['parts']): FileUIPart[] => parts.filter((part) => part.type === 'file');
const outputOf = (parts: UIMessage['parts']): Record<string, string>[] =>
  parts.flatMap((part) =>
    part.type === 'dynamic-tool' ? (part.output as { content: Record<string, string>[] }).content : [],
  );
const lastRequest = (): string => JSON.stringify(fake.requests.at(-1)?.body.messages);

describe('the result of a tool', () => {
  it('has links to files in place of images and blobs, for readers and in the transcript', async () => {
    const image = png(randomBytes(8));
    content = [
      { type: 'text', text: 'Here:' },
      { type: 'image', data: base64(image), mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///reports/q3.pdf?x', mimeType: 'application/pdf', blob: PDF } },
      { type: 'resource', resource: { uri: 'file:///t.csv', mimeType: 'text/csv', blob: base64('a;b') } },
      { type: 'resource', resource: { uri: 'file:///t.txt', mimeType: 'text/plain', text: 'as it is' } },
    ];
    const parts = await look();
    const output = outputOf(parts);
    const urls = filesOf(parts).map((part) => unsigned(part).url);
    expect(output).toEqual([
      content[0],
      { type: 'resource_link', uri: urls[0], name: 'image/png', mimeType: 'image/png', size: image.length },
      { type: 'resource_link', uri: urls[1], name: 'q3.pdf', mimeType: 'application/pdf', size: 15 },
      { type: 'resource_link', uri: urls[2], name: 't.csv', mimeType: 'text/csv', size: 3 },
      content[4],
    ]);
    const file = await download(app, urls[0] ?? '');
    expect(Buffer.from(await file.arrayBuffer()).equals(image)).toBe(true);
    const rows = await app.query<{ parts: string }>(
      `SELECT parts::text || coalesce((SELECT string_agg(frames, '') FROM run_event_batches b WHERE b.run_id = m.run_id), '') AS parts
         FROM messages m WHERE thread_id = $1`,
      [thread.id],
    );
    expect(JSON.stringify(rows)).not.toContain(base64(image).slice(0, 40));
    // The model gets what the tool has sent.
    for (const part of [`data:image/png;base64,${base64(image)}`, `data:application/pdf;base64,${PDF}`, 'a;b']) {
      expect(lastRequest()).toContain(part);
    }
  });

  it('reaches the model again in later runs, and the copy of a thread names the files', async () => {
    content = [{ type: 'image', data: base64(png(randomBytes(8))), mimeType: 'image/png' }];
    await look();
    fake.script({ kind: 'text', deltas: ['Yes.'] });
    await thread.ask('And now?', { tier: 'thinking' });
    expect(lastRequest()).toContain('data:image/png;base64,');
    const { item } = await succeed<{ item: { id: string } }>(app, 'THREAD_COPY', { id: thread.id });
    const named = `SELECT DISTINCT thread_id FROM message_files WHERE thread_id = ANY ($1)`;
    expect(await app.query(named, [[thread.id, item.id]])).toHaveLength(2);
  });

  it('can have an image beyond the limit of a result', async () => {
    const image = png(Buffer.alloc(3 * 1_048_576, 1));
    content = [{ type: 'image', data: base64(image), mimeType: 'image/png' }];
    expect(outputOf(await look())).toMatchObject([{ type: 'resource_link', size: image.length }]);
  });

  it('is stored as what its bytes are, and as it is if it is no base64', async () => {
    content = [
      { type: 'image', data: base64('\0 says it is an image'), mimeType: 'image/png' },
      { type: 'image', data: 'not base64!', mimeType: 'image/png' },
      { type: 'audio', data: base64('RIFF\0\0\0\0WAVEfmt '), mimeType: 'no type' },
    ];
    expect(outputOf(await look())).toMatchObject([
      { type: 'resource_link', mimeType: 'application/octet-stream' },
      content[1] as object,
      { type: 'resource_link', mimeType: expect.stringMatching(/wav/) },
    ]);
    expect(lastRequest()).toContain('is of a type that the model does not take: application/octet-stream');
  });

  it('keeps twenty files', async () => {
    const image = base64(png());
    content = Array.from({ length: 22 }, () => ({ type: 'image', data: image, mimeType: 'image/png' }));
    const parts = await look();
    expect(filesOf(parts)).toHaveLength(20);
    const note = { type: 'text', text: '[A file was left out: of one result, 20 files are kept.]' };
    expect(outputOf(parts).slice(20)).toEqual([note, note]);
  });

  it('opens no file to the model by a link of the upstream', async () => {
    const secret = await uploaded(app, Buffer.from(`secret ${randomBytes(8).toString('hex')}`), { type: 'text/plain' });
    content = [
      { type: 'resource_link', uri: secret.url, name: 'x', mimeType: 'text/plain' },
      { type: 'image', data: base64(png()), mimeType: 'image/png' },
    ];
    expect(outputOf(await look())[0]).toEqual(content[0]);
    expect(lastRequest()).not.toContain('secret ');
  });

  it('says so where the organization has no room for a file', async () => {
    // The last test: other processes and keys learn of a new limit with a delay.
    await succeed(app, 'ORGANIZATION_UPDATE', { limits: { file_bytes: 1 } });
    content = [{ type: 'image', data: base64(png(randomBytes(8))), mimeType: 'image/png' }];
    const parts = await look();
    expect(filesOf(parts)).toEqual([]);
    expect(outputOf(parts)).toMatchObject([{ type: 'text', text: expect.stringMatching(/left out\..*file_bytes/) }]);
  });
});
