import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { createAgent, LONG, succeed, ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const TIMEOUT_MS = 120_000;

inBrowser('a chat whose requests take their time', () => {
  let fixture: ConsoleFixture;
  let opened: ConsolePage;
  let agentId: string;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start(newTenant);
    agentId = await createAgent(fixture.service, [], { title: 'Signaller' });
  }, TIMEOUT_MS);
  afterEach(() => opened?.close());
  afterAll(() => fixture.close());

  const conversation = (page: Page): Locator => page.getByRole('list', { name: 'Conversation' });
  const answers = (page: Page): Locator => conversation(page).getByRole('article', { name: 'Agent' });

  async function runsOf(...threadIds: string[]): Promise<{ status: string }[]> {
    const where = { field: ['thread_id'], operator: 'in', value: threadIds };
    return (await succeed<{ items: { status: string }[] }>(fixture.service, 'RUN_LIST', { where })).items;
  }

  it.each([
    ['completed', 'hello', 'You said: hello'],
    ['failed', '/fail out of coal', 'out of coal'],
  ])(
    'keeps a %s answer that the service does not replace',
    async (_status, text, answer) => {
      const thread = await ThreadClient.create(fixture.service, agentId);
      await thread.ask(text);
      opened = await fixture.open(`playground/${thread.id}`);
      const { page } = opened;
      const answered = Promise.withResolvers<void>();
      await page.route('**/regenerate', async (route) => {
        await answered.promise;
        const body = JSON.stringify({ status: 429, code: 'too_many_runs', detail: 'Too many runs wait.' });
        await route.fulfill({ status: 429, contentType: 'application/problem+json', body });
      });
      await answers(page).getByRole('button', { name: 'Regenerate' }).click();
      await page.getByRole('button', { name: 'Stop' }).waitFor();
      answered.resolve();
      await page.getByRole('alert').getByText('Too many runs wait.').waitFor();
      await answers(page).getByText(answer).waitFor();
      await page.unroute('**/regenerate');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('alert').getByText('Too many runs wait.').waitFor({ state: 'detached' });
      await answers(page).getByText(answer).waitFor();
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
      expect(await answers(page).count()).toBe(1);
      expect(await runsOf(thread.id)).toHaveLength(2);
      expect(opened.problems).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'replaces an answer once, though the connection is lost after the service has accepted that',
    async () => {
      const thread = await ThreadClient.create(fixture.service, agentId);
      await thread.ask('hello');
      opened = await fixture.open(`playground/${thread.id}`);
      const { page } = opened;
      await page.route('**/regenerate', async (route) => {
        await route.fetch();
        await route.abort();
      });
      await answers(page).getByRole('button', { name: 'Regenerate' }).click();
      await page.getByRole('button', { name: 'Try again' }).waitFor();
      await answers(page).getByText('You said: hello').waitFor();
      await page.unroute('**/regenerate');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('button', { name: 'Try again' }).waitFor({ state: 'detached' });
      await answers(page).getByText('You said: hello').waitFor();
      await page.getByRole('button', { name: 'Regenerate' }).waitFor();
      expect(await answers(page).count()).toBe(1);
      expect(await runsOf(thread.id)).toHaveLength(2);
    },
    TIMEOUT_MS,
  );

  it(
    'can stop a message that was sent while the page looked for a run in progress',
    async () => {
      const thread = await ThreadClient.create(fixture.service, agentId);
      opened = await fixture.open('threads');
      const { page } = opened;
      const [found, sent] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      // A search that the page has given up cannot go on.
      await page.route(/stream\?.*idle=204/, (route) =>
        found.promise.then(() => route.continue()).catch(() => undefined),
      );
      await page.route('**/messages', (route) => sent.promise.then(() => route.continue()));
      const searching = page.waitForRequest(/stream\?.*idle=204/);
      await page.goto(fixture.address(`playground/${thread.id}`));
      const search = await searching;
      await page.getByLabel('Message', { exact: true }).fill(LONG);
      await opened.sendWithEnter();
      const stop = page.getByRole('button', { name: 'Stop' });
      await stop.waitFor();
      found.resolve();
      await search.response().catch(() => null);
      // Without the button, this would be a message of its own.
      await page.getByLabel('Message', { exact: true }).fill('and more');
      await opened.settled();
      expect(await stop.count()).toBe(1);
      const cancelled = page.waitForResponse('**/cancel');
      await stop.click();
      await cancelled;
      sent.resolve();
      await stop.waitFor({ state: 'detached' });
      expect(await runsOf(thread.id)).toMatchObject([{ status: 'cancelled' }]);
      expect(opened.problems).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'leaves the address of another view alone once the columns that were left have begun',
    async () => {
      opened = await fixture.open(`playground?agent=${agentId}&agent2=${agentId}`);
      const { page } = opened;
      const sent = Promise.withResolvers<void>();
      await page.route('**/messages', (route) => sent.promise.then(() => route.continue()));
      await page.getByLabel('Message', { exact: true }).fill('All of you');
      const posting = page.waitForRequest('**/messages');
      await opened.sendWithEnter();
      await posting;
      await page.getByRole('link', { name: 'Threads', exact: true }).click();
      await page.getByRole('heading', { level: 1, name: 'Threads' }).waitFor();
      const address = page.url();
      sent.resolve();
      const row = page.getByRole('row', { name: /All of you/ });
      await row.getByText('completed').nth(1).waitFor();
      await opened.settled();
      expect(page.url()).toBe(address);
      expect(opened.problems).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'keeps why a column was not begun, and its message, while another one is tried again',
    async () => {
      opened = await fixture.open(`playground?agent=${agentId}&agent2=${agentId}`);
      const { page } = opened;
      await page.route('**/messages', (route) => route.fulfill({ status: 429, body: '{}' }));
      await page.getByLabel('Message', { exact: true }).fill('Both of you');
      await opened.sendWithEnter();
      const columns = [1, 2].map((number) => page.getByRole('region', { name: `Column ${number}` }));
      for (const column of columns) await column.getByRole('alert').waitFor();
      await page.unroute('**/messages');
      for (const column of columns) {
        await column.getByRole('button', { name: 'Send again here' }).click();
        await column.getByText('You said: Both of you', { exact: true }).waitFor();
      }
      expect(opened.problems).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'saves an agent once before it is tried, however often that is asked for',
    async () => {
      opened = await fixture.open(`agents/${agentId}`);
      const { page } = opened;
      const trial = page.getByRole('region', { name: 'Try it' });
      const saved = Promise.withResolvers<void>();
      let saves = 0;
      await page.route('**/COLLECTION_VIRTUAL_MCP_UPDATE', (route) => {
        saves += 1;
        return saved.promise.then(() => route.continue());
      });
      await page.getByRole('textbox', { name: 'Instructions (optional)' }).fill('Answer in one sentence.');
      await trial.getByRole('button', { name: 'Save and try' }).click();
      await trial.locator('button[aria-busy="true"]', { hasText: 'Save and try' }).click({ force: true });
      saved.resolve();
      await page.getByText('The agent was saved.').waitFor();
      await trial.getByText('The answers come from the agent as it was saved.').waitFor({ state: 'detached' });
      expect(saves).toBe(1);
      expect(opened.problems).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
