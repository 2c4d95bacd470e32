import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { FileUIPart } from 'ai';
import { uploaded } from '../runtime/files/files.support.js';
import { createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { eventually } from '../support/eventually.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';
import { conversation, expectDrawn, image, PDF, type Picked, picture } from './message-files.support.js';

const TIMEOUT_MS = 120_000;

let fixture: ConsoleFixture;
let opened: ConsolePage;
let agentId: string;

beforeAll(async () => {
  if (!hasChromium) return;
  fixture = await ConsoleFixture.start(newTenant);
  agentId = await createAgent(fixture.service, [], { title: 'Signaller' });
}, TIMEOUT_MS);
afterEach(() => opened?.close());
afterAll(() => fixture?.close());

/** A thread whose message has these files, and its answer these parts. */
async function threadWith(files: readonly FileUIPart[], answer: readonly object[] = []): Promise<ThreadClient> {
  const thread = await ThreadClient.create(fixture.service, agentId);
  const messages = [{ role: 'user', parts: [...files, { type: 'text', text: 'Look at this.' }] }];
  const { body } = await thread.post({ messages, agent: { id: agentId } }).expect(202);
  await thread.collect((body as { taskId: string }).taskId);
  if (answer.length > 0) {
    const statement = `UPDATE messages SET parts = $2 WHERE thread_id = $1 AND role = 'assistant'`;
    await fixture.service.query(statement, [thread.id, JSON.stringify(answer)]);
  }
  return thread;
}

async function stored({ name, mimeType: type, buffer }: Picked): Promise<FileUIPart & { id: string }> {
  const disposition = `attachment; filename="${name}"`;
  const { id, url } = await uploaded(fixture.service, buffer, { type, disposition });
  return { id, type: 'file', mediaType: type, url };
}

inBrowser('files in a transcript', () => {
  it('are shown by what they are, and as links otherwise', async () => {
    const wav = Buffer.alloc(844);
    wav.write(
      'RIFF\x44\x03\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x20\x03\0\0',
      'latin1',
    );
    const files = [await stored({ name: 'whistle.wav', mimeType: 'audio/wav', buffer: wav }), await stored(PDF)];
    const { id } = await threadWith(files.map(({ id: _id, ...part }) => part));
    opened = await fixture.open(`threads/${id}`);
    const { page } = opened;
    const sound = page.getByLabel('whistle.wav');
    await eventually(async () =>
      expect(await sound.evaluate((audio) => (audio as unknown as { duration: number }).duration)).toBe(0.05),
    );
    await page.getByText(`application/pdf · ${PDF.buffer.length} bytes`).waitFor();
    const href = await page.getByRole('link', { name: 'plan.pdf' }).getAttribute('href');
    expect((await page.request.get(new URL(href ?? '', page.url()).href)).status()).toBe(200);
    await opened.expectAccessible();
    await opened.expectToFit(360);
  });

  it('get a new address when that of the part has expired, and a note when they were deleted', async () => {
    const [kept, deleted] = [await stored(picture('kept.png')), await stored(picture('deleted.png'))];
    const thread = await threadWith([kept, deleted].map(({ id: _id, ...part }) => part));
    await succeed(fixture.service, 'FILE_DELETE', { id: deleted.id });
    opened = await fixture.open('playground');
    const { page } = opened;
    // Changes make a page read again.
    await page.route('**/events', (route) => route.abort());
    await page.route('**/COLLECTION_THREAD_MESSAGES_LIST', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replaceAll(/expires=\d+/g, 'expires=1') });
    });
    const asked: string[] = [];
    page.on('request', (request) => void (request.url().endsWith('/FILE_GET') && asked.push(request.url())));
    await page.goto(fixture.address(`playground/${thread.id}`));
    await expectDrawn(image(page, 'kept.png'));
    await conversation(page).getByText('deleted.png: The file was deleted.').waitFor();
    expect(asked).toHaveLength(2);
    await opened.expectAccessible();
  });

  it('are shown in results of tools, and nothing but files of the organization is loaded', async () => {
    const signal = await stored(picture('signal.png'));
    const part = (url: string, filename: string): object => ({ type: 'file', mediaType: 'image/png', filename, url });
    const link = (uri: string, name: string): object => ({ type: 'resource_link', uri, name, mimeType: 'image/png' });
    const [, org] = /^\/api\/([^/]+)/.exec(signal.url) ?? [];
    const foreign = [
      'https://evil.test/api/a.png',
      '//evil.test/b.png',
      `/api/${org}/files/../../../console/icon.svg`,
      signal.url.replace(`/${org}/`, '/another/'),
      'data:image/png;base64,AAAA',
      'javascript:window.ran=1',
    ];
    const parts = foreign.map((url, index) => part(url, `foreign ${index}.png`));
    const links = foreign.map((url, index) => link(url, `foreign ${index}.png`));
    const content = [{ type: 'text', text: 'Two files' }, link(signal.url, 'signal.png'), ...links];
    const thread = await threadWith(
      [],
      [
        {
          type: 'dynamic-tool',
          toolName: 'look',
          toolCallId: 'c1',
          state: 'output-available',
          input: {},
          output: { content },
        },
        ...parts,
      ],
    );
    opened = await fixture.open(`playground/${thread.id}`);
    const { page } = opened;
    const result = page.getByRole('region', { name: 'Tool call look' });
    await result.locator('summary').first().click();
    await result.getByText('Result', { exact: true }).click();
    await expectDrawn(result.getByRole('img', { name: 'signal.png' }));
    const note = 'It is not a file of this organization, so it is not loaded.';
    expect(await page.getByText(note).count()).toBe(foreign.length);
    expect(await result.getByText('resource_link').count()).toBe(foreign.length);
    expect(await page.locator('main img').count()).toBe(1);
    expect(await page.evaluate('window.ran')).toBeUndefined();
    await opened.expectAccessible();
    await opened.expectToFit(360);
  });
});
