import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page, Request } from 'playwright-core';
import { createAgent, LONG, succeed, ThreadClient } from '../support/agent-runs.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { eventually } from '../support/eventually.js';
import type { ConsoleFixture, ConsolePage } from './console-fixture.js';
import { Conversation, list } from './conversation.support.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const TIMEOUT_MS = 120_000;

let conversation: Conversation;
let fixture: ConsoleFixture;
let opened: ConsolePage;
let agentId: string;
let thread: ThreadClient;
let failedRun: string;

beforeAll(async () => {
  if (!hasChromium) return;
  conversation = await Conversation.start();
  ({ fixture, agentId, thread, failedRun } = conversation);
  const other = await ThreadClient.create(fixture.service, await createAgent(fixture.service, [], { title: 'Clerk' }));
  await other.ask('hello');
}, TIMEOUT_MS);
afterEach(() => opened?.close());
afterAll(() => conversation?.close());

/** Waits until the list has this many rows. */
async function expectRows(page: Page, name: string, count: number): Promise<void> {
  await page.getByText(`${count} of ${count}`, { exact: true }).first().waitFor();
  expect(await list(page, name).getByRole('row').count()).toBe(count + 1);
}

inBrowser('Runs', () => {
  it('finds the failed run of the last 24 hours, the step that failed, and the request', async () => {
    opened = await fixture.open('runs');
    const { page } = opened;
    await expectRows(page, 'Runs', 3);
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.getByRole('button', { name: 'Failed in the last 24 hours' }).click();
    expect(new URL(page.url()).search).toBe('?status=failed&since=24h');
    await expectRows(page, 'Runs', 1);
    await list(page, 'Runs').getByRole('link').first().click();
    await page.waitForURL(`**/runs/${failedRun}`);
    const { item } = await succeed<{ item: { request_id: string } }>(fixture.service, 'RUN_GET', { id: failedRun });
    const error = page.getByRole('alert', { name: 'Error' });
    await error.getByText('no steam').waitFor();
    await error.getByText(item.request_id).waitFor();
    const timeline = page.getByRole('list', { name: 'Timeline' });
    await timeline.getByText('derail', { exact: true }).waitFor();
    const steps = await timeline.getByRole('listitem').allInnerTexts();
    const first = ['Waiting for a worker', 'Step 1', 'Model, call 1', 'look'];
    const later = ['Step 2', 'Model, call 2', 'derail', 'Step 3', 'Model, call 3'];
    expect(steps.map((text) => text.split('\n')[0])).toEqual([...first, ...later]);
    expect(steps[6]).toContain('failed · Points');
    await opened.expectAccessible();
    await opened.expectToFit(360);
  });

  it('shows the question, and of each stretch of time what went in and what came out', async () => {
    opened = await fixture.open(`runs/${failedRun}`);
    const { page } = opened;
    await list(page, 'Question').getByText('/fail no steam').waitFor();
    const timeline = page.getByRole('list', { name: 'Timeline' });
    await timeline.getByRole('button', { name: /^derail/ }).click();
    const tool = list(page, 'derail');
    await tool.getByText('off the rails').waitFor();
    await tool.getByText('a permission of the caller').waitFor();
    expect(new URL(page.url()).searchParams.get('span')).toBeTruthy();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await timeline.getByRole('button', { name: /^Model, call 1/ }).click();
    const model = list(page, 'Model, call 1');
    await model.getByText('Asked for').waitFor();
    await model.getByText('look', { exact: true }).waitFor();
    await model.getByText('Raw JSON').click();
    await model.getByText('"duration_ms"').waitFor();
    await page.reload();
    await model.getByText('Asked for').waitFor();
    await model.getByRole('button', { name: 'Close' }).click();
    await model.waitFor({ state: 'detached' });
    await timeline.getByRole('button', { name: /^Step 2/ }).click();
    await timeline.getByRole('button', { name: /^derail/ }).waitFor({ state: 'detached' });
    await page.goto(fixture.address('runs'));
    await list(page, 'Runs').getByText('/fail no steam').waitFor();
    await list(page, 'Runs').getByRole('button', { name: 'Only runs with model_failed' }).click();
    await expectRows(page, 'Runs', 1);
    await page.getByRole('button', { name: 'Remove the filter: Error model_failed' }).click();
    await expectRows(page, 'Runs', 3);
    await list(page, 'Runs').getByRole('link').first().waitFor();
    expect(opened.problems).toEqual([]);
  });

  it('zooms the timeline with the mouse and by keyboard, and keeps that in the address', async () => {
    opened = await fixture.open(`runs/${failedRun}`);
    const { page } = opened;
    const zoom = page.getByRole('toolbar', { name: 'Zoom of the timeline' });
    const shown = (): string | null => new URL(page.url()).searchParams.get('zoom');
    await zoom.getByRole('button', { name: 'Zoom in' }).focus();
    await page.keyboard.press('Enter');
    await zoom.getByRole('button', { name: 'Show the whole run' }).waitFor();
    const [half] = [shown()];
    await zoom.getByRole('button', { name: 'Show later' }).click();
    await page.waitForURL((url) => url.searchParams.get('zoom') !== half);
    await page.reload();
    await opened.expectAccessible();
    await zoom.getByRole('button', { name: 'Show the whole run' }).click();
    await page.waitForURL((url) => !url.searchParams.has('zoom'));
    const axis = page.getByTitle('Drag to zoom');
    // Waits until it no longer moves.
    await axis.hover();
    const { x, y, width } = (await axis.boundingBox()) ?? { x: 0, y: 0, width: 0 };
    await page.mouse.move(x + width / 4, y + 5);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + 5, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL((url) => url.searchParams.has('zoom'));
    await page
      .getByRole('list', { name: 'Timeline' })
      .getByRole('button', { name: /^derail/ })
      .click();
    await zoom.getByRole('button', { name: 'Zoom to derail' }).click();
    await opened.expectToFit(360);
    expect(opened.problems).toEqual([]);
  });

  it('filters by agent, status and ID, and clears the filters', async () => {
    opened = await fixture.open(`runs?agent=${agentId}`);
    const { page } = opened;
    await expectRows(page, 'Runs', 2);
    await page.getByLabel('Status').selectOption('completed');
    await expectRows(page, 'Runs', 1);
    await page.getByRole('button', { name: 'Agent: Signaller' }).click();
    const dialog = page.getByRole('dialog', { name: 'Choose an agent' });
    await dialog.getByRole('combobox').fill('cle');
    await dialog.getByRole('option', { name: 'Clerk' }).waitFor();
    await opened.expectAccessible();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Agent: Clerk' }).waitFor();
    await expectRows(page, 'Runs', 1);
    await page.getByText('More filters').click();
    await page.getByLabel('Find by ID').fill(failedRun);
    await page.getByText('No run matches.').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expectRows(page, 'Runs', 3);
    await page.getByLabel('Find by ID').fill(failedRun);
    await expectRows(page, 'Runs', 1);
    await page.getByLabel('Find by ID').fill(thread.id);
    await expectRows(page, 'Runs', 2);
  });

  it('finds nothing by a value that nothing has, and leaves out a time that is none', async () => {
    opened = await fixture.open('runs?user=me&from=x&to=y&id=nowhere');
    const { page } = opened;
    await page.getByText('No run matches.').waitFor();
    await page.getByRole('button', { name: 'Remove the filter: ID nowhere' }).click();
    await page.getByText('No run matches.').waitFor();
    await page.getByRole('button', { name: 'Remove the filter: Person me' }).click();
    await expectRows(page, 'Runs', 3);
    expect(opened.problems).toEqual([]);
  });

  it('searches questions, and filters by tool, by code and by a stretch of time chosen with the keyboard', async () => {
    opened = await fixture.open('runs?q=steam');
    const { page } = opened;
    await expectRows(page, 'Runs', 1);
    await page.getByLabel('Search questions').fill('look');
    await expectRows(page, 'Runs', 2);
    await page.getByRole('button', { name: 'Only with the tool derail' }).click();
    await expectRows(page, 'Runs', 1);
    await page.getByLabel('Search questions').fill('');
    await page.getByRole('button', { name: 'Remove the filter: Tool derail' }).click();
    await expectRows(page, 'Runs', 3);
    const failures = page.getByRole('group', { name: 'Failures by code' });
    await failures.getByRole('button', { name: 'model_failed 1' }).click();
    await expectRows(page, 'Runs', 1);
    await page.getByLabel('Order').selectOption('Longest first');
    const chart = page.getByRole('slider', { name: /^Number of runs over time/ });
    // The counts of the list without the filter stay until those with it are there.
    await page.getByText('1 run in the last 7 days').waitFor();
    await chart.focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Shift+ArrowLeft');
    expect(await chart.getAttribute('aria-valuetext')).toContain(': 1, 1 failed');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Remove the filter: .*–/ }).waitFor();
    await expectRows(page, 'Runs', 1);
    const { searchParams } = new URL(page.url());
    expect([...searchParams.keys()].toSorted()).toEqual(['code', 'from', 'sort', 'to']);
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.getByRole('button', { name: 'Not over' }).click();
    await page.waitForURL(({ searchParams: now }) => now.get('status') === 'open' && !now.has('from'));
    expect(opened.problems).toEqual([]);
  });

  it('keeps a view under a name, opens and deletes it', async () => {
    opened = await fixture.open('runs?code=model_failed&sort=cost');
    const { page } = opened;
    await page.getByRole('button', { name: 'Save view' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save view' });
    await dialog.getByLabel('Name').fill('Broken');
    await opened.expectAccessible();
    await page.keyboard.press('Enter');
    await page.goto(fixture.address('runs?status=completed'));
    await page.getByRole('button', { name: 'Broken', exact: true }).click();
    await expectRows(page, 'Runs', 1);
    expect(new URL(page.url()).search).toBe('?code=model_failed&sort=cost');
    await page.getByRole('button', { name: 'Delete the view Broken' }).click();
    await page.getByRole('button', { name: 'Broken', exact: true }).waitFor({ state: 'detached' });
    expect(opened.problems).toEqual([]);
  });

  it('follows a run live, and cancels it after asking', async () => {
    const own = await ThreadClient.create(fixture.service, agentId);
    const headers = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` };
    const { taskId } = (await own.post(own.request(`/words 3\n${LONG}`), { headers }).expect(202)).body;
    opened = await fixture.open(`runs/${taskId}`, { colorScheme: 'dark' });
    const { page } = opened;
    await page.getByText('word1 word2 word3').waitFor();
    await page.getByRole('button', { name: /^Model, call 1 .*so far/ }).waitFor();
    // Without TRACE_URL there is no link.
    const facts = page.getByRole('region', { name: 'Facts' });
    await facts.locator('code', { hasText: TRACE_ID }).waitFor();
    expect(await facts.getByRole('link', { name: TRACE_ID }).count()).toBe(0);
    await opened.expectAccessible();
    await page.getByRole('button', { name: 'Cancel run' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel run' }).click();
    await page.getByText('Stopped before the answer was complete.').waitFor();
    await page.getByText('cancelled').first().waitFor();
    await page.getByRole('button', { name: 'Cancel run' }).waitFor({ state: 'detached' });
    expect(opened.problems).toEqual([]);
  });

  it('says what is missing: the run, the permission', async () => {
    opened = await fixture.open('runs/00000000-0000-7000-8000-000000000000');
    await opened.page.getByRole('alert').getByText('There is no run with this id').waitFor();
    await opened.close();
    opened = await fixture.open('runs', { role: 'member' });
    await opened.page.getByText('You do not have access to this.').waitFor();
    await opened.expectAccessible();
  });
});

inBrowser('Threads', () => {
  it('finds a thread by title, agent, and metadata, and shows its transcript and runs', async () => {
    opened = await fixture.open('threads?key=customer&value=nobody');
    const { page } = opened;
    await page.getByText('No thread matches.').waitFor();
    await page.getByLabel('Value of customer').fill('acme');
    await expectRows(page, 'Threads', 1);
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.goto(fixture.address('threads'));
    await page.getByLabel('Search titles and messages').fill('steam');
    await expectRows(page, 'Threads', 1);
    await list(page, 'Threads').getByText('/call look {}').waitFor();
    const chart = page.getByRole('slider', { name: /^Number of threads over time/ });
    const box = await chart.boundingBox();
    if (box === null) throw new Error('The histogram is not on the page.');
    await page.mouse.move(box.x + box.width * 0.5, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 2, box.y + 10, { steps: 3 });
    await page.mouse.up();
    await page.getByRole('button', { name: /^Remove the filter: .*–/ }).waitFor();
    await expectRows(page, 'Threads', 1);
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.getByRole('link', { name: 'Line 7' }).click();
    await page.getByRole('heading', { name: 'Line 7', level: 1 }).waitFor();
    const transcript = page.getByRole('list', { name: 'Transcript' });
    await transcript.getByRole('region', { name: 'Tool call look' }).first().waitFor();
    await transcript.getByText('off the rails').first().waitFor();
    await expectRows(page, 'Runs of the thread', 2);
    await opened.expectAccessible();
    await opened.expectToFit(360);
  });

  /** Opens a thread of 44 messages, of which its page shows the last 40 first. */
  async function openLongThread(): Promise<{ page: Page; transcript: Locator }> {
    const own = await ThreadClient.create(fixture.service, agentId);
    for (let n = 1; n <= 22; n += 1) await own.ask(`message ${n}.`);
    opened = await fixture.open(`threads/${own.id}`);
    const transcript = opened.page.getByRole('list', { name: 'Transcript' });
    await transcript.getByText('You said: message 22.').waitFor();
    return { page: opened.page, transcript };
  }

  it('shows a long transcript from its end, page by page', async () => {
    const { page, transcript } = await openLongThread();
    expect(await transcript.getByRole('article').count()).toBe(40);
    await page.getByRole('button', { name: 'Show earlier messages' }).click();
    await transcript.getByText('You said: message 1.').waitFor();
    const said = await transcript.getByRole('article', { name: 'User' }).allInnerTexts();
    expect(said.map((text) => /message (\d+)\./.exec(text)?.[1])).toEqual(
      Array.from({ length: 22 }, (_, index) => String(index + 1)),
    );
  });

  it('shows earlier messages although the thread changes while they are read', async () => {
    const { page, transcript } = await openLongThread();
    // The first request for earlier messages gets no answer.
    const isEarlier = (request: Request): boolean => request.postData()?.includes('"cursor"') === true;
    let held: Request | undefined;
    await page.route('**/COLLECTION_THREAD_MESSAGES_LIST', async (route) => {
      if (held !== undefined || !isEarlier(route.request())) return route.fallback();
      held = route.request();
    });
    let isGivenUp = false;
    page.on('requestfailed', (request) => (isGivenUp ||= request === held));
    await page.getByRole('button', { name: 'Show earlier messages' }).click();
    await eventually(() => held !== undefined);
    // A run on any thread has the transcript read again.
    const other = await ThreadClient.create(fixture.service, agentId);
    await eventually(async () => {
      await other.ask('hello');
      return isGivenUp;
    });
    await transcript.getByText('You said: message 1.').waitFor();
  });

  it('does not ask about the copy of a thread what it asked about the thread', async () => {
    const own = await ThreadClient.create(fixture.service, agentId);
    opened = await fixture.open(`threads/${own.id}`);
    const { page } = opened;
    const copied = Promise.withResolvers<void>();
    await page.route('**/THREAD_COPY', (route) => copied.promise.then(() => route.continue()));
    await page.getByRole('button', { name: 'Copy thread' }).click();
    await page.getByRole('button', { name: 'Delete thread' }).click();
    const question = page.getByRole('alertdialog');
    await question.waitFor();
    copied.resolve();
    await page.waitForURL((url) => !url.pathname.endsWith(own.id));
    const copyId = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await page.getByText(copyId, { exact: true }).waitFor();
    await question.waitFor({ state: 'detached' });
  });

  it('renames with undo, changes metadata, copies, and deletes after asking', async () => {
    const own = await ThreadClient.create(fixture.service, agentId);
    opened = await fixture.open(`threads/${own.id}`, { colorScheme: 'dark' });
    const { page } = opened;
    await page.getByRole('link', { name: 'Write the first message' }).waitFor();
    await opened.expectAccessible();
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByLabel('Title').fill('Night shift');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Night shift' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'Thread', exact: true, level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Edit metadata' }).click();
    await page.getByLabel('Key').fill('customer');
    await page.getByLabel('Value').fill('umbrella');
    await opened.expectAccessible();
    await page.getByRole('button', { name: 'Save metadata' }).click();
    await page.getByRole('region', { name: 'Metadata' }).getByText('umbrella').waitFor();
    await page.getByRole('button', { name: 'Copy thread' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(own.id));
    await page.getByRole('region', { name: 'Metadata' }).getByText('umbrella').waitFor();
    await page.getByRole('button', { name: 'Delete thread' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete thread' }).click();
    await page.waitForURL('**/threads');
    expect(opened.problems).toEqual([]);
  });

  it('says that nothing is permitted', async () => {
    opened = await fixture.open('threads', { role: 'member' });
    await opened.page.getByText('You do not have access to this.').waitFor();
    await opened.expectAccessible();
  });
});
