import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FileUIPart } from 'ai';
import { createAgent, serveTier, succeed, textOf, ThreadClient } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import type { FileItem } from '../../../src/runtime/files/file.dto.js';
import { age, detailsOf, download, png, SHORT_DAYS, uploaded } from './files.support.js';

let app: Tenant;
let other: Tenant;
let fake: FakeOpenAI;
let agentId: string;
let thread: ThreadClient;
beforeAll(async () => {
  [app, other, fake] = [await newTenant(), await newTenant(), await startFakeOpenAI()];
  agentId = await createAgent(app);
  await serveTier(app, 'thinking', fake, { model: 'fake-model' });
});
afterAll(async () => {
  await fake?.close();
  await app?.close();
  await other?.close();
});
beforeEach(async () => {
  thread = await ThreadClient.create(app, agentId);
});

const partOf = ({ media_type: mediaType, url }: FileItem, more: object = {}): FileUIPart => ({
  type: 'file',
  mediaType,
  url,
  ...more,
});

/** Posts a message with these parts. */
async function post(parts: object[], tier?: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const request = { messages: [{ role: 'user', parts }], agent: { id: agentId }, ...(tier !== undefined && { tier }) };
  const { status, body } = await thread.post(request);
  return { status, body: body as Record<string, unknown> };
}

/** Posts, and waits for the end of the run; returns the text of the answer. */
async function ask(parts: object[], tier?: string): Promise<string> {
  const { status, body } = await post(parts, tier);
  expect([status, body['code']]).toEqual([202, undefined]);
  const { chunks } = await thread.collect(String(body['taskId']));
  return textOf(chunks);
}

/** What the model got of the last user message. */
function lastContent(): unknown {
  const messages = fake.requests.at(-1)?.body['messages'] as { role: string; content: unknown }[];
  return messages.findLast(({ role }) => role === 'user')?.content;
}

describe('a file part', () => {
  it('reaches the model as content, and the transcript as the address of the file', async () => {
    const file = await uploaded(app, png(), { disposition: 'attachment; filename="part.png"' });
    fake.script({ kind: 'text', deltas: ['A gear.'] });
    expect(await ask([partOf(file), { type: 'text', text: 'What is this?' }], 'thinking')).toBe('A gear.');
    const url = `data:image/png;base64,${png().toString('base64')}`;
    expect(lastContent()).toEqual([
      { type: 'image_url', image_url: { url } },
      { type: 'text', text: 'What is this?' },
    ]);

    const [question] = await thread.messages();
    const part = question?.parts[0] as FileUIPart | undefined;
    expect(part).toMatchObject({ type: 'file', mediaType: 'image/png', filename: 'part.png' });
    expect(part?.url).toContain(`${file.url}/content?expires=`);
    const opened = await fetch(new URL(part?.url ?? '', app.url));
    expect([opened.status, opened.headers.get('etag')]).toEqual([200, `"${file.sha256}"`]);
    const [stored] = await app.query<{ parts: FileUIPart[] }>(
      `SELECT parts FROM messages WHERE thread_id = $1 AND role = 'user'`,
      [thread.id],
    );
    expect(stored?.parts[0]?.url).toBe(file.url);
  });

  it('is a file of the conversation later, too, and can be named by its signed and its absolute address', async () => {
    const file = await uploaded(app, png(randomBytes(10)));
    const { signed_url: signed } = (await succeed<{ item: { signed_url: string } }>(app, 'FILE_GET', { id: file.id }))
      .item;
    for (const url of [signed, new URL(file.url, app.url).href]) {
      fake.script({ kind: 'text', deltas: ['Yes.'] });
      await ask([partOf(file, { url })], 'thinking');
    }
    fake.script({ kind: 'text', deltas: ['Still.'] });
    await ask([{ type: 'text', text: 'And now?' }], 'thinking');
    const messages = fake.requests.at(-1)?.body['messages'] as { content: unknown }[];
    // Once in a request, however often it is named.
    expect(JSON.stringify(messages).match(/image_url":/g)).toHaveLength(1);
  });

  it('with a data: URL becomes a file, and the transcript holds no base64', async () => {
    const url = `data:image/png;base64,${png(randomBytes(3)).toString('base64')}`;
    expect(await ask([{ type: 'file', mediaType: 'image/png', filename: 'a/b/part.png', url }])).toContain(
      '[part.png, image/png]',
    );
    const [question] = await thread.messages();
    expect(question?.parts).toEqual([
      { type: 'file', mediaType: 'image/png', filename: 'part.png', url: expect.stringMatching(/^\/api\/.*\/files\//) },
    ]);
  });

  it('of a post that is refused becomes no file', async () => {
    const tenant = await newTenant();
    const parts = [{ type: 'file', mediaType: 'text/plain', url: `data:text/plain;base64,${btoa('lost')}` }];
    const body = { messages: [{ role: 'user', parts }], agent: { id: agentId } };
    const unknown = await new ThreadClient(tenant, agentId, 'none').post(body);
    expect([unknown.status, (unknown.body as { code: string }).code]).toEqual([404, 'thread_not_found']);
    const own = await createAgent(tenant);
    const foreign = await (await ThreadClient.create(tenant, own)).post(body);
    expect([foreign.status, (foreign.body as { code: string }).code]).toEqual([404, 'agent_not_found']);
    expect((await tenant.tool('FILE_LIST', {})).body).toMatchObject({ totalCount: 0 });
    await tenant.close();
  });

  it('with text reaches models as text', async () => {
    const file = await uploaded(app, Buffer.from('a;b\n1;2'), {
      type: 'text/csv',
      disposition: 'attachment; filename=t.csv',
    });
    fake.script({ kind: 'text', deltas: ['Two columns.'] });
    await ask([partOf(file)], 'thinking');
    expect(JSON.stringify(lastContent())).toContain('t.csv:\\na;b\\n1;2');
  });

  it.each([
    ['text over 256 KiB', Buffer.alloc(256 * 1024 + 1, 'a'), 'text/plain'],
    ['a type that the model does not take', Buffer.from('\0anything'), 'application/octet-stream'],
  ])('with %s is refused at the post', async (_, bytes, type) => {
    const file = await uploaded(app, bytes, { type });
    const calls = fake.requests.length;
    const { status, body } = await post([partOf(file)], 'thinking');
    expect([status, body['code']]).toEqual([400, 'file_unsupported']);
    expect(body['errors']).toMatchObject([{ path: 'messages[0].parts[0].url' }]);
    expect(fake.requests).toHaveLength(calls);
  });

  it.each([
    ['https://example.com/a.png', 'file_url_unsupported'],
    ['file:///etc/passwd', 'file_url_unsupported'],
    ['data:image/png;base64,%%%', 'file_url_unsupported'],
    ['data:image/png,text', 'file_url_unsupported'],
    ['data:image/png;base64,', 'invalid_request'],
    [`data:image/png;base64,${Buffer.from('text').toString('base64')}`, 'file_type_mismatch'],
    ['/api/default/files/00000000-0000-7000-8000-000000000000', 'file_url_unsupported'],
  ])('with the url %s is refused', async (url, code) => {
    const { status, body } = await post([{ type: 'file', mediaType: 'image/png', url }]);
    expect([status, body['code']]).toEqual([400, code]);
    expect(await thread.messages()).toEqual([]);
  });

  it('that names a file of another organization, or none, is refused alike', async () => {
    const foreign = await uploaded(other, png());
    const missing = foreign.id.replace(/^.{8}/, '00000000');
    for (const url of [`/api/${app.org}/files/${foreign.id}`, `/api/${app.org}/files/${missing}`]) {
      const { status, body } = await post([partOf(foreign, { url })]);
      expect([status, body['code']]).toEqual([404, 'file_not_found']);
    }
    const { status, body } = await post([partOf(foreign)]);
    expect([status, body['code']]).toEqual([400, 'file_url_unsupported']);
  });

  it.each([
    ['a text in a file part', [{ type: 'file', mediaType: 'image/png', url: 'data:,', text: 'x' }], 'unknown_property'],
    ['a url in a text part', [{ type: 'text', text: 'x', url: 'data:,' }], 'unknown_property'],
    ['no url', [{ type: 'file', mediaType: 'image/png' }], 'invalid_request'],
    ['no media type', [{ type: 'file', url: 'data:,' }], 'invalid_request'],
    ['null for a part', [null], 'invalid_request'],
    ['a part of another type', [{ type: 'image', url: 'data:,' }], 'part_type_not_supported'],
    [
      '21 files',
      Array.from({ length: 21 }, () => ({ type: 'file', mediaType: 'a/b', url: 'data:,' })),
      'invalid_request',
    ],
  ])('with %s is refused', async (_, parts, code) => {
    const { status, body } = await post(parts as object[]);
    expect([status, body['code']]).toEqual([400, code]);
  });

  it('is refused in a system message', async () => {
    const file = await uploaded(app, png());
    const messages = [
      { role: 'system', parts: [partOf(file)] },
      { role: 'user', parts: [{ type: 'text', text: 'Hello' }] },
    ];
    const { status, body } = await thread.post({ messages, agent: { id: agentId } });
    expect([status, (body as { code: string }).code]).toEqual([400, 'part_type_not_supported']);
  });
});

describe('a file that a message names', () => {
  it('loses its bytes when it is deleted: the part stays, and models get a note', async () => {
    const file = await uploaded(app, png(randomBytes(20)));
    fake.script({ kind: 'text', deltas: ['A gear.'] });
    await ask([partOf(file), { type: 'text', text: 'What is this?' }], 'thinking');
    expect(file.deleted).toBe(false);
    await succeed(app, 'FILE_DELETE', { id: file.id });
    expect(await detailsOf(app, file.id)).toMatchObject({ deleted: true, signed_url: null });
    const gone = await download(app, file.url);
    expect([gone.status, ((await gone.json()) as { code: string }).code]).toEqual([410, 'file_deleted']);
    expect((await thread.messages())[0]?.parts[0]).toMatchObject({ type: 'file', mediaType: 'image/png' });
    fake.script({ kind: 'text', deltas: ['It is gone.'] });
    await ask([{ type: 'text', text: 'Look again.' }], 'thinking');
    expect(JSON.stringify(fake.requests.at(-1)?.body['messages'])).toContain('[The file (image/png) was deleted.]');
    const { status, body } = await post([partOf(file)]);
    expect([status, body['code']]).toEqual([404, 'file_not_found']);
  });

  it('can be deleted between the post and the run', async () => {
    const file = await uploaded(app, png(randomBytes(20)));
    const first = await thread.postMessage('/wait 60000');
    fake.script({ kind: 'text', deltas: ['Nothing there.'] });
    const { body } = await post([partOf(file)], 'thinking');
    await succeed(app, 'FILE_DELETE', { id: file.id });
    await thread.cancel(first).expect(202);
    expect(textOf((await thread.collect(String(body['taskId']))).chunks)).toBe('Nothing there.');
    expect(JSON.stringify(lastContent())).toContain('[The file (image/png) was deleted.]');
  });

  it('fails the run if the model of its tier was replaced by one that does not take it', async () => {
    const { item: tiers } = await succeed<{ item: { thinking: { provider_id: string } } }>(app, 'MODEL_TIERS_GET', {});
    const data = { title: 'No sound', kind: 'openai', base_url: fake.baseUrl };
    const { item } = await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data });
    const first = await thread.postMessage('/wait 60000');
    const url = `data:audio/wav;base64,${btoa('RIFF\0\0\0\0WAVEfmt ')}`;
    const { body } = await post([{ type: 'file', mediaType: 'audio/wav', url }], 'thinking');
    const calls = fake.requests.length;
    await succeed(app, 'MODEL_TIERS_SET', { data: { thinking: { provider_id: item.id, model: 'no-sound' } } });
    await thread.cancel(first).expect(202);
    const run = await thread
      .waitFor(String(body['taskId']), 'failed', 'completed')
      .finally(() => succeed(app, 'MODEL_TIERS_SET', { data: tiers }));
    expect(run).toMatchObject({ status: 'failed', error: { code: 'file_unsupported' } });
    expect(fake.requests).toHaveLength(calls);
  });

  it('is kept as long as a message names it, also one of a copy, and goes with the last one', async () => {
    const tenant = await newTenant(SHORT_DAYS);
    const agent = await createAgent(tenant);
    const [kept, unnamed] = [await uploaded(tenant, png(randomBytes(5))), await uploaded(tenant, png(randomBytes(5)))];
    const original = await ThreadClient.create(tenant, agent);
    const messages = [{ role: 'user', parts: [partOf(kept)] }];
    const { body } = await original.post({ messages, agent: { id: agent } });
    await original.collect((body as { taskId: string }).taskId);
    const copy = (await succeed<{ item: { id: string } }>(tenant, 'THREAD_COPY', { id: original.id })).item.id;
    await succeed(tenant, 'COLLECTION_THREADS_DELETE', { id: original.id });
    await age(tenant, kept.id, unnamed.id);
    await eventually(async () => expect((await download(tenant, unnamed.url)).status).toBe(404));
    expect((await download(tenant, kept.url)).status).toBe(200);
    await succeed(tenant, 'COLLECTION_THREADS_DELETE', { id: copy });
    await eventually(async () => expect((await download(tenant, kept.url)).status).toBe(404));
    await tenant.close();
  });
});

it('a caller names only files that it can read', async () => {
  const neighbours = await uploaded(app, Buffer.from('top secret'), { type: 'text/plain' });
  const input = { thread_id: thread.id, permissions: ['read', 'post'] };
  const { token } = await succeed<{ token: string }>(app, 'THREAD_TOKEN_CREATE', input);
  const permissions = { self: ['FILE_CREATE'] };
  const { key } = await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'writer', permissions });
  const own = await uploaded(app, png(randomBytes(9)), { key });
  const request = (file: FileItem): object => ({
    messages: [{ role: 'user', parts: [partOf(file)] }],
    agent: { id: agentId },
  });
  for (const credential of [token, key]) {
    const answer = await thread.post(request(neighbours), { key: credential });
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([404, 'file_not_found']);
  }
  expect((await thread.post(request(own), { key })).status).toBe(202);
});

describe('a browser token', () => {
  it('posts the bytes of a file with the permission to post alone', async () => {
    const input = { thread_id: thread.id, permissions: ['post'] };
    const { token } = await succeed<{ token: string }>(app, 'THREAD_TOKEN_CREATE', input);
    const parts = [{ type: 'file', mediaType: 'text/plain', url: `data:text/plain;base64,${btoa('a note')}` }];
    const request = { messages: [{ role: 'user', parts }], agent: { id: agentId } };
    const { body } = await thread.post(request, { key: token }).expect(202);
    await thread.waitFor((body as { taskId: string }).taskId, 'completed');
    const [question] = await thread.messages();
    const url = (question?.parts[0] as FileUIPart | undefined)?.url ?? '';
    expect(await (await fetch(new URL(url, app.url))).text()).toBe('a note');
  });

  it('uploads if it may post, and opens what it has uploaded, and the files of its thread if it may read', async () => {
    const tokenWith = async (...permissions: string[]): Promise<Tenant> => {
      const input = { thread_id: thread.id, permissions };
      const { token } = await succeed<{ token: string }>(app, 'THREAD_TOKEN_CREATE', input);
      return { ...app, apiKey: token };
    };
    const [poster, reader] = [await tokenWith('post'), await tokenWith('read')];
    const own = await uploaded(poster, png(randomBytes(8)));
    const foreign = await uploaded(app, png(randomBytes(8)));
    const statuses = async (tenant: Tenant): Promise<number[]> =>
      Promise.all([own, foreign].map(async ({ url }) => (await download(tenant, url)).status));
    expect([await statuses(poster), await statuses(reader)]).toEqual([
      [200, 404],
      [404, 404],
    ]);
    await expect(uploaded(reader, png())).rejects.toThrow('permission_denied');
    // Posted with a credential that can read both.
    await ask([partOf(own), partOf(foreign)]);
    expect([await statuses(poster), await statuses(reader)]).toEqual([
      [200, 404],
      [200, 200],
    ]);
  });
});
