import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { FileChooser, Locator, Page } from 'playwright-core';
import { createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';
import { conversation, expectDrawn, image, PDF, type Picked, picture } from './message-files.support.js';

const TIMEOUT_MS = 120_000;
const MIB = 1024 * 1024;

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

const chips = (page: Page): Locator => page.getByRole('list', { name: 'Files of the message' }).getByRole('listitem');
const send = (page: Page): Locator => page.getByRole('button', { name: 'Send', exact: true });
const answers = (page: Page): Locator => conversation(page).getByRole('article', { name: 'Agent' });

/** Chooses files with the button. */
async function pick(page: Page, ...files: Picked[]): Promise<void> {
  await (await chooser(page)).setFiles([...files]);
}

async function chooser(page: Page): Promise<FileChooser> {
  const choosing = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Add files' }).click();
  return choosing;
}

/** An expression of the page: the bytes of a file. */
const bytesOf = ({ buffer }: Picked): string => `Uint8Array.fromBase64(${JSON.stringify(buffer.toString('base64'))})`;

/** Pastes a picture, which browsers call `image.png`. */
async function paste(page: Page, file: Picked): Promise<void> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const blob = `new Blob([${bytesOf(file)}], { type: 'image/png' })`;
  await page.evaluate(`navigator.clipboard.write([new ClipboardItem({ 'image/png': ${blob} })])`);
  await page.getByLabel('Message', { exact: true }).press('Control+V');
}

async function drop(page: Page, file: Picked): Promise<void> {
  const dataTransfer = await page.evaluateHandle<object>(
    `(() => {
       const data = new DataTransfer();
       data.items.add(new File([${bytesOf(file)}], ${JSON.stringify(file.name)}, { type: 'image/png' }));
       return data;
     })()`,
  );
  await page.getByLabel('Message', { exact: true }).dispatchEvent('drop', { dataTransfer });
}

inBrowser('files in the composer', () => {
  it('are picked, pasted, dropped and removed, sent without a text, and shown after a reload', async () => {
    opened = await fixture.open(`playground?agent=${agentId}`);
    const { page } = opened;
    await page.getByRole('link', { name: 'Signaller' }).waitFor();
    expect(await send(page).isDisabled()).toBe(true);
    await pick(page, picture("gear's plän.png"), {
      name: 'timetable.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('7;12:04'),
    });
    await paste(page, picture('image.png'));
    await drop(page, picture('dropped.png'));
    await page.getByRole('status').getByText('4 of 4 files uploaded.').waitFor({ state: 'attached' });
    expect(await chips(page).getByText('uploaded', { exact: true }).count()).toBe(4);
    await chips(page).filter({ hasText: 'timetable.csv' }).getByText('7 bytes').waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.getByRole('button', { name: 'Remove dropped.png' }).press('Enter');
    expect(await chips(page).count()).toBe(3);
    await opened.sendWithEnter();
    await page.waitForURL(/playground\/[^/?]+$/);
    await answers(page).getByText("[gear's plän.png, image/png]").waitFor();
    for (const reload of [false, true]) {
      if (reload) await page.reload();
      await expectDrawn(image(page, "gear's plän.png"));
      await expectDrawn(image(page, 'image.png'));
      await conversation(page).getByRole('link', { name: 'timetable.csv' }).waitFor();
    }
    await conversation(page).getByText('text/csv · 7 bytes').waitFor();
    expect(await page.getByText('dropped.png').count()).toBe(0);
    const href = await conversation(page).getByRole('link', { name: "gear's plän.png" }).getAttribute('href');
    expect(href).toMatch(/^\/api\/[^/]+\/files\/[\w-]+\/content\?expires=/);
    await opened.expectAccessible();
    await opened.expectToFit(360);
  });

  it('are not sent while one lies about its type, and the service says why', async () => {
    const { id } = await ThreadClient.create(fixture.service, agentId);
    opened = await fixture.open(`playground/${id}`, { colorScheme: 'dark' });
    const { page } = opened;
    await pick(page, { ...PDF, name: 'liar.png', mimeType: 'image/png' }, picture('honest.png'));
    const why = 'The file is declared as image/png, but its bytes are application/pdf.';
    await page.getByRole('alert').getByText(why).waitFor();
    await page.getByText('not uploaded', { exact: true }).waitFor();
    await page.getByText('Remove what was not uploaded, then send.').waitFor();
    await page.getByLabel('Message', { exact: true }).fill('Look.');
    expect(await send(page).isDisabled()).toBe(true);
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.getByRole('button', { name: 'Remove liar.png' }).click();
    expect(await page.getByLabel('Message', { exact: true }).evaluate((field) => field.matches(':focus'))).toBe(true);
    await opened.sendWithEnter();
    await answers(page).getByText('You said: [honest.png, image/png]').waitFor();
    await expectDrawn(image(page, 'honest.png'));
  });

  it('say that they are too large', async () => {
    opened = await fixture.open(`playground?agent=${agentId}`);
    const { page } = opened;
    // From the disk: a file of this size would take seconds as a text of the debugger.
    const folder = await mkdtemp(join(tmpdir(), 'huge-'));
    const path = join(folder, 'huge.bin');
    await writeFile(path, '');
    await truncate(path, 21 * MIB);
    await (await chooser(page)).setFiles(path);
    await page.getByRole('alert').getByText('A file is limited to 20 MiB.').waitFor();
    await chips(page).getByText('21.0 MiB').waitFor();
    expect(opened.problems).toEqual([]);
    await rm(folder, { recursive: true });
  });

  it('end their upload when they are removed', async () => {
    opened = await fixture.open(`playground?agent=${agentId}`);
    const { page } = opened;
    await page.route('**/files', () => new Promise(() => undefined), { times: 1 });
    const ended = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/files'));
    await pick(page, picture('slow.png'), picture('next.png'));
    await page.getByText('The files are being uploaded.').waitFor();
    expect(await send(page).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Remove slow.png' }).click();
    expect((await ended).failure()?.errorText).toBe('net::ERR_ABORTED');
    await page.getByRole('status').getByText('1 of 1 files uploaded.').waitFor({ state: 'attached' });
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('are given back when the service refuses the message, and sent again with a changed one', async () => {
    const { id } = await ThreadClient.create(fixture.service, agentId);
    opened = await fixture.open(`playground/${id}`);
    const { page } = opened;
    await page.route('**/messages', (route) =>
      route.fulfill({
        status: 400,
        contentType: 'application/problem+json',
        body: JSON.stringify({ status: 400, code: 'file_unsupported', detail: 'The model takes no pictures.' }),
      }),
    );
    await pick(page, picture('refused.png'));
    await page.getByLabel('Message', { exact: true }).fill('What is it?');
    await opened.sendWithEnter();
    await page.getByRole('alert').getByText('The model takes no pictures.').waitFor();
    await chips(page).getByText('refused.png').waitFor();
    await page.unroute('**/messages');
    await send(page).click();
    await answers(page).getByText('You said: [refused.png, image/png]').waitFor();
    expect(await chips(page).count()).toBe(0);
    const question = conversation(page).getByRole('article', { name: 'You' }).last();
    await question.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit and send again' });
    await dialog.getByText('Its files are sent again, too.').waitFor();
    await dialog.getByLabel('Message').fill('And now?');
    await dialog.getByRole('button', { name: 'Send in a new thread' }).click();
    await answers(page).getByText('And now?').waitFor();
    await expectDrawn(image(page, 'refused.png'));
    expect(page.url()).not.toContain(id);
  });

  it('are not offered to a caller who may not upload', async () => {
    const permissions = { self: ['COLLECTION_THREADS_CREATE'] };
    const { key } = await succeed<{ key: string }>(fixture.service, 'API_KEY_CREATE', { name: 'texts', permissions });
    opened = await fixture.openAnonymous(fixture.address(`playground?agent=${agentId}`));
    const { page } = opened;
    await page.getByRole('button', { name: 'Use an API key' }).click();
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Options' }).waitFor();
    expect(await page.getByRole('button', { name: 'Add files' }).count()).toBe(0);
    await paste(page, picture('image.png'));
    expect(await chips(page).count()).toBe(0);
  });
});
