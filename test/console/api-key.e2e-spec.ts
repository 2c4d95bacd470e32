import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const TIMEOUT_MS = 180_000;
const CHATBOT = [
  'COLLECTION_THREADS_CREATE',
  'COLLECTION_THREADS_GET',
  'COLLECTION_THREADS_LIST',
  'COLLECTION_THREAD_MESSAGES_LIST',
];
const VIEWS = [
  'Overview',
  'Playground',
  'Threads',
  'Runs',
  'Connections',
  'Agents',
  'Keys',
  'Access',
  'Monitoring',
  'Settings',
];

let fixture: ConsoleFixture;
let upstream: EverythingServer;
let opened: ConsolePage;

beforeAll(async () => {
  if (hasChromium) [fixture, upstream] = await Promise.all([ConsoleFixture.start(newTenant), startEverything()]);
}, TIMEOUT_MS);
afterEach(() => opened?.close());
afterAll(async () => {
  await Promise.all([fixture?.close(), upstream?.close()]);
});

/** Opens the console in a new browser, and pastes the key. */
async function openWithKey(key: string): Promise<Page> {
  opened = await fixture.openAnonymous(`${fixture.service.url}/console`);
  const { page } = opened;
  await page.getByRole('button', { name: 'Use an API key' }).click();
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  return page;
}

async function makeKey(self: readonly string[]): Promise<{ id: string; key: string }> {
  return succeed(fixture.service, 'API_KEY_CREATE', { name: 'pasted', permissions: { self } });
}

/** Everything that the browser keeps beyond the page itself. */
async function keptBy(page: Page): Promise<string> {
  const stored = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
  const databases = await page.evaluate<string>('indexedDB.databases().then(JSON.stringify)');
  const caches = await page.evaluate<string>('"caches" in window ? caches.keys().then(JSON.stringify) : "[]"');
  expect([databases, caches]).toEqual(['[]', '[]']);
  return stored + JSON.stringify(await page.context().cookies()) + page.url();
}

async function view(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
}

inBrowser('the console with a pasted key', () => {
  it('goes from the connection to the export, keeps the key in memory only, and forgets it', async () => {
    const { service } = fixture;
    const page = await openWithKey(service.apiKey);
    /** How the requests of the API were authenticated. */
    const shown = new Set<string>();
    page.on('request', (request) => {
      const { authorization = '', cookie = '', 'x-csrf-token': csrf = '' } = request.headers();
      if (new URL(request.url()).pathname.startsWith('/api/')) shown.add(`${authorization} ${cookie} ${csrf}`.trim());
    });
    await view(page, 'Connections');
    await page.getByRole('button', { name: 'Create the first connection' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Title' }).fill('Everything');
    await dialog.getByRole('textbox', { name: 'Address' }).fill(upstream.url);
    await dialog.getByRole('button', { name: 'Create connection' }).click();
    await dialog.getByText(/^\d+ tools, \d+ chosen$/).waitFor();

    await dialog.getByRole('button', { name: 'Close' }).click();
    await view(page, 'Agents');
    await page.getByRole('link', { name: 'Create the first agent' }).click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Signaller');
    await page.getByRole('button', { name: 'Add Everything' }).click();
    await page.getByRole('button', { name: 'Create agent' }).click();
    await page.getByRole('heading', { level: 1, name: 'Signaller' }).waitFor();

    await view(page, 'Playground');
    await page.getByLabel('Message', { exact: true }).fill('/words 3\n/call get-sum {"a":40,"b":2}\n/wait 600000');
    await opened.sendWithEnter();
    const answer = page.getByRole('article', { name: 'Agent' });
    // What streams is there before the run is over.
    await answer.getByText('word1 word2 word3').waitFor();
    await answer.getByText('get-sum returned: The sum of 40 and 2 is 42.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('link', { name: /^Open run/ }).click();
    await page.getByRole('list', { name: 'Timeline' }).getByText('get-sum', { exact: true }).waitFor();

    await view(page, 'Keys');
    await page.getByRole('region', { name: 'Keys' }).getByRole('row').nth(1).waitFor();

    await view(page, 'Runs');
    await opened.settled();
    const rows = page.getByRole('region', { name: 'Runs' }).getByRole('row');
    const before = await rows.count();
    await (await ThreadClient.create(service, await createAgent(service))).ask('from elsewhere');
    await rows.nth(before).waitFor();

    await view(page, 'Monitoring');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    expect(await text(await (await saving).createReadStream())).toMatch(/^id,at,[^]*get-sum/);

    expect([...shown]).toEqual([`Bearer ${service.apiKey}`]);
    expect(await keptBy(page)).not.toContain(service.apiKey.slice(4));
    expect((await page.context().cookies()).map(({ name }) => name)).not.toContain('sbx_session');
    const address = page.url();
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(page.url()).toBe(address);
    expect(await keptBy(page)).not.toContain(service.apiKey.slice(4));
    expect(opened.problems).toEqual([]);
  });

  it('forgets the key on request, and what was read with it', async () => {
    const page = await openWithKey(fixture.service.apiKey);
    await view(page, 'Connections');
    await page.getByRole('link', { name: 'Everything' }).waitFor();
    await page.getByRole('button', { name: 'API key' }).click();
    await page.getByRole('menuitem', { name: 'Forget the key' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await keptBy(page)).not.toContain(fixture.service.apiKey.slice(4));
  });

  it('asks again within seconds when the key is deleted', async () => {
    const { id, key } = await makeKey(['RUN_LIST']);
    const page = await openWithKey(key);
    await view(page, 'Runs');
    await opened.settled();
    await succeed(fixture.service, 'API_KEY_DELETE', { id });
    // The stream of changes ends, and opening it again is refused.
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  it.each([
    ['one permission', ['RUN_LIST'], ['Overview', 'Runs']],
    ['those of a chatbot', CHATBOT, ['Playground', 'Threads']],
    ['none', [], []],
  ])('says in every view what a key with %s does not open, and fails nowhere', async (_which, self, open) => {
    const { key } = await makeKey(self);
    const page = await openWithKey(key);
    const failed: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400 && response.status() !== 403) failed.push(`${response.status()} ${response.url()}`);
    });
    for (const name of VIEWS) {
      await view(page, name);
      await opened.settled();
      expect([name, await page.getByRole('alert').count()]).toEqual([name, 0]);
      const isRefused = /You do not have access to this|shows nothing here/.test(
        await page.getByRole('main').innerText(),
      );
      expect([name, isRefused]).toEqual([name, !open.includes(name)]);
    }
    await opened.expectAccessible();
    expect([...failed, ...opened.problems]).toEqual([]);
  });

  it('reads threads and runs agents with the key of a chatbot, which does not list agents', async () => {
    const { key } = await makeKey(CHATBOT);
    const { service } = fixture;
    const thread = await ThreadClient.create(service, await createAgent(service));
    await thread.ask('hello');
    const page = await openWithKey(key);
    await view(page, 'Threads');
    await page.getByRole('region', { name: 'Threads' }).getByRole('row').nth(1).waitFor();
    await page.locator(`a[href$="threads/${thread.id}"]`).click();
    await page.getByRole('list', { name: 'Transcript' }).getByText('You said: hello').waitFor();
    await page.getByRole('link', { name: 'Continue in the playground' }).click();
    await page.getByLabel('Message', { exact: true }).fill('again');
    await opened.sendWithEnter();
    await page.getByText('You said: again', { exact: true }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(opened.problems).toEqual([]);
  });
});
