import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { createAgent, LONG, succeed, ThreadClient } from '../support/agent-runs.js';
import { useScriptedModel } from '../runtime/approvals/approvals.support.js';
import { eventually } from '../support/eventually.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { entryOf } from '../support/reference-servers.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const TIMEOUT_MS = 120_000;

let fixture: ConsoleFixture;
let opened: ConsolePage;
/** An agent with the tools of the reference server over STDIO; calls of `get-sum` need an approval. */
let agentId: string;

beforeAll(async () => {
  if (hasChromium) fixture = await ConsoleFixture.start(newTenant);
}, TIMEOUT_MS);
afterEach(() => opened?.close());
afterAll(() => fixture?.close());

/** Connects the reference server, and creates the agent. */
async function addAgent(): Promise<void> {
  const data = {
    title: 'Everything',
    connection_type: 'STDIO',
    stdio: { command: 'node', args: [entryOf('server-everything'), 'stdio'] },
  };
  const { item } = await succeed<{ item: { id: string } }>(fixture.service, 'COLLECTION_CONNECTIONS_CREATE', { data });
  const connections = [{ connection_id: item.id, selected_tools: null, approval: ['get-sum'] }];
  agentId = await createAgent(fixture.service, [], { title: 'Signaller', connections });
  await succeed(fixture.service, 'CONNECTION_TEST', { id: item.id });
}

const conversation = (page: Page): Locator => page.getByRole('list', { name: 'Conversation' });
const answers = (page: Page): Locator => conversation(page).getByRole('article', { name: 'Agent' });

/** What a call took, in the head of its card. */
const DURATION = /^[\d.]+ m?s$/;

/** The answer of a model that sends these deltas. */
function eventsOf(deltas: readonly object[]): string {
  const chunks = [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ];
  const events = chunks.map((chunk) =>
    JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, ...chunk }),
  );
  return [...events, '[DONE]'].map((event) => `data: ${event}\n\n`).join('');
}

/** Writes a message and sends it with Enter. */
async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await opened.sendWithEnter();
}

/** Opens a chat that has this conversation. */
async function openChat(...texts: string[]): Promise<{ page: Page; thread: ThreadClient }> {
  const thread = await ThreadClient.create(fixture.service, agentId);
  for (const text of texts) await thread.ask(text);
  opened = await fixture.open(`playground/${thread.id}`);
  await conversation(opened.page).waitFor({ state: 'attached' });
  return { page: opened.page, thread };
}

inBrowser('an empty installation', () => {
  it.each([
    ['playground', 'There are no agents yet.', 'Create an agent'],
    ['threads', 'There are no threads yet.', 'Talk to an agent'],
    ['runs', 'Nothing has run yet.', 'Talk to an agent'],
  ])('says in %s what comes next', async (view, text, step) => {
    opened = await fixture.open(view);
    await opened.page.getByText(text).waitFor();
    await opened.page.getByRole('main').getByRole('link', { name: step }).waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
  });
});

inBrowser('the playground', () => {
  beforeAll(addAgent, TIMEOUT_MS);

  it('goes from the first message through a tool call and an approval to the run', async () => {
    opened = await fixture.open('playground');
    const { page } = opened;
    await page.getByRole('link', { name: 'Signaller' }).waitFor();
    await page.getByRole('list', { name: 'Tools of the agent' }).getByRole('button', { name: 'get-sum' }).waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await send(
      page,
      'Hello **you**\n\n```json\n{ "platform": true }\n```\n\n| Stop | Fare |\n|---|--:|\n| Ely | 9 |\n\n$$\\frac{a}{2}$$',
    );
    await page.waitForURL(/playground\/[^/?]+$/);
    await answers(page).getByText('You said: Hello you').waitFor();
    await answers(page)
      .getByRole('region', { name: 'Code' })
      .locator('span.text-code-constant', { hasText: 'true' })
      .waitFor();
    const fare = answers(page).getByRole('columnheader', { name: 'Fare' });
    expect(await fare.getAttribute('class')).toContain('text-right');
    await answers(page).locator('math mfrac').waitFor();
    await send(page, '/call echo {"message":"tickets please"}\n/call get-sum {"a":40,"b":2}');
    const echo = page.getByRole('region', { name: 'Tool call echo' });
    await echo.getByText('completed').waitFor();
    expect(await echo.getByText('Echo: tickets please').isVisible()).toBe(false);
    await echo.locator('summary').first().click();
    await echo.getByText('Echo: tickets please').waitFor();
    const sum = page.getByRole('region', { name: 'Tool call get-sum' });
    await sum.getByText('waiting for approval').waitFor();
    await page.getByRole('status').getByText('asks for approval to call get-sum').waitFor({ state: 'attached' });
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await sum.getByLabel('Reason').fill('small numbers');
    await sum.getByRole('button', { name: 'Approve' }).click();
    await sum.getByText('completed').waitFor();
    await answers(page).last().getByText('get-sum returned: The sum of 40 and 2 is 42.').waitFor();
    expect(await page.getByLabel('Message', { exact: true }).evaluate((field) => field.matches(':focus'))).toBe(true);
    await sum.locator('summary').first().click();
    await sum.getByText('Approved: small numbers').waitFor();
    await sum.getByText('The sum of 40 and 2 is 42.').waitFor();
    for (const call of [echo, sum]) await call.locator('summary').first().getByText(DURATION).waitFor();
    await answers(page).last().getByRole('button', { name: 'Trace' }).click();
    const trace = page.getByRole('complementary', { name: 'Trace' });
    await trace
      .getByRole('list', { name: 'Timeline' })
      .getByRole('button', { name: /^Approval of get-sum/ })
      .click();
    await trace.getByRole('region', { name: 'Approval of get-sum' }).waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    // Over the chat, where there is no room beside it.
    await page.setViewportSize({ width: 800, height: 800 });
    await page.getByRole('dialog', { name: 'Trace' }).getByRole('region', { name: 'Approval of get-sum' }).waitFor();
    await opened.expectAccessible();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('');
    await page.setViewportSize({ width: 1280, height: 800 });
    await page
      .getByRole('link', { name: /^Open run/ })
      .last()
      .click();
    const timeline = page.getByRole('list', { name: 'Timeline' });
    await timeline.getByText('get-sum', { exact: true }).waitFor();
    await timeline.getByText('Approval of get-sum').waitFor();
    await page.getByRole('link', { name: 'Playground', exact: true }).click();
    const earlier = page.getByRole('region', { name: 'Earlier chats' });
    await earlier.getByRole('searchbox').fill('tickets');
    await earlier.getByRole('link', { name: /^Hello/ }).click();
    await answers(page).getByText('You said: Hello you').waitFor();
    expect(opened.problems).toEqual([]);
  });

  it('denies a call, and shows a failed run with its error', async () => {
    const { page, thread } = await openChat('/words 600');
    const loaded = Promise.withResolvers<void>();
    await page.route('**/agent-runtime/runs/*', async (route) => {
      await loaded.promise;
      await route.continue();
    });
    await send(page, '/call get-sum {"a":1,"b":1}');
    await page.getByRole('region', { name: 'Tool call get-sum' }).getByText('waiting for approval').waitFor();
    loaded.resolve();
    // The question is loaded after its message.
    await page.getByLabel('Reason').waitFor();
    await page.waitForFunction('document.documentElement.scrollHeight - innerHeight - scrollY < 1');
    await page.getByLabel('Reason').fill('not today');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('region', { name: 'Tool call get-sum' }).getByText('Denied: not today').waitFor();
    // A message to the run that goes on would steer it.
    await eventually(async () => expect(await thread.status()).toBe('completed'));
    await send(page, '/fail out of coal');
    await answers(page).last().getByText('out of coal').waitFor();
    await answers(page).last().getByText('The run failed.').waitFor();
    expect(opened.problems).toEqual([]);
  });

  it('takes up a running answer after a reload, and stops it', async () => {
    const { page } = await openChat();
    await send(page, `/words 3\n${LONG}`);
    await answers(page).getByText('word1 word2 word3').waitFor();
    await page.reload();
    await answers(page).getByText('word1 word2 word3').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await answers(page).getByText('Stopped before the answer was complete.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    // The same after everything is read from the transcript.
    await page.reload();
    await answers(page).getByText('Stopped before the answer was complete.').waitFor();
    expect(opened.problems).toEqual([]);
  });

  it('stops a running answer before its stream is found', async () => {
    const { page, thread } = await openChat();
    await send(page, `/words 3\n${LONG}`);
    await eventually(async () => JSON.stringify(await thread.messages()).includes('word1 word2 word3'));
    const found = Promise.withResolvers<void>();
    await page.route(new RegExp(`${thread.id}/stream.*idle=204`), (route) =>
      found.promise.then(() => route.continue()),
    );
    await page.reload();
    await answers(page).getByText('word1 word2 word3').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await eventually(async () => (await thread.status()) !== 'in_progress');
    found.resolve();
    await answers(page).getByText('Stopped before the answer was complete.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    expect(opened.problems).toEqual([]);
  });

  it('stops an answer before the service has accepted its message', async () => {
    const { page, thread } = await openChat();
    // A page that has found that no run is in progress.
    const address = page.url();
    await page.goto('about:blank');
    const idle = page.waitForResponse(/stream\?.*idle=204/);
    await page.goto(address);
    await idle;
    const sent = Promise.withResolvers<void>();
    await page.route('**/messages', (route) => sent.promise.then(() => route.continue()));
    await send(page, LONG);
    const cancelled = page.waitForResponse('**/cancel');
    await page.getByRole('button', { name: 'Stop' }).click();
    await cancelled;
    sent.resolve();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    const where = { field: ['thread_id'], operator: 'eq', value: thread.id };
    expect((await fixture.service.tool('RUN_LIST', { where })).body.items).toMatchObject([{ status: 'cancelled' }]);
    expect(opened.problems).toEqual([]);
  });

  it('keeps what is being written while the transcript cannot be read again', async () => {
    const { page } = await openChat('hello');
    const message = page.getByLabel('Message', { exact: true });
    await message.fill('half a thought');
    let refusals = 0;
    await page.route('**/COLLECTION_THREAD_MESSAGES_LIST', async (route) => {
      await route.fulfill({ status: 400, body: '{}' });
      refusals += 1;
    });
    // A run on any thread has the transcript read again: the second time after the page has shown the first failure.
    const other = await ThreadClient.create(fixture.service, agentId);
    await eventually(async () => {
      await other.ask('hello');
      return refusals > 1;
    });
    expect(await message.inputValue()).toBe('half a thought');
    expect(opened.problems).toEqual([]);
  });

  it('regenerates the last answer, and begins a new line with Shift and Enter', async () => {
    const { page } = await openChat('/random 4');
    const before = await answers(page).innerText();
    await answers(page).getByRole('button', { name: 'Regenerate' }).click();
    await page.getByRole('status').getByText('The agent answered:').waitFor({ state: 'attached' });
    expect(await answers(page).count()).toBe(1);
    expect(await answers(page).innerText()).not.toBe(before);
    const message = page.getByLabel('Message', { exact: true });
    await message.fill('one');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('two');
    expect(await message.inputValue()).toBe('one\ntwo');
  });

  it('completes the name of a tool by keyboard and pointer while the built-in model answers', async () => {
    const { page } = await openChat('hello');
    const message = page.getByLabel('Message', { exact: true });
    const list = page.getByRole('listbox', { name: 'Tools to call' });
    await message.pressSequentially('Say /call get-s');
    expect(await list.count()).toBe(0);
    await message.press('Shift+Enter');
    await message.pressSequentially('/call get-s');
    await list.waitFor();
    const names = await list.getByRole('option').allInnerTexts();
    expect(names.toSorted()).toEqual(['get-structured-content', 'get-sum']);
    await opened.expectAccessible();
    await page.keyboard.press('ArrowUp');
    const chosen = await list.getByRole('option', { selected: true }).getAttribute('id');
    expect(await message.getAttribute('aria-activedescendant')).toBe(chosen);
    expect(await message.getAttribute('aria-controls')).toBe(await list.getAttribute('id'));
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
    await message.pressSequentially('u');
    await list.getByRole('option', { name: 'get-sum', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await list.waitFor({ state: 'detached' });
    await message.pressSequentially('"a":40,"b":2');
    expect(await message.inputValue()).toBe('Say /call get-s\n/call get-sum {"a":40,"b":2}');
    await message.fill('/');
    await list.getByRole('option', { name: 'echo' }).click();
    expect(await message.inputValue()).toBe('/call echo {}');
    expect(await message.evaluate((field) => field.matches(':focus'))).toBe(true);
    await message.fill('/');
    await list.waitFor();
    await page.keyboard.press('Tab');
    expect(await message.inputValue()).toMatch(/^\/call \S+ \{\}$/);
  });

  it('sends a changed message in a copy of the conversation before it', async () => {
    const { page, thread } = await openChat('the first', 'the second');
    const second = conversation(page).getByRole('article', { name: 'You' }).last();
    await second.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit and send again' });
    await opened.expectAccessible();
    await dialog.getByLabel('Message').fill('the changed');
    await dialog.getByRole('button', { name: 'Send in a new thread' }).click();
    await answers(page).getByText('You said: the changed').waitFor();
    await answers(page).getByText('You said: the first').waitFor();
    expect(await answers(page).count()).toBe(2);
    expect(page.url()).not.toContain(thread.id);
    // Its run is that of the original; that of the new answer is its own.
    const [copied, own] = [answers(page).first(), answers(page).last()];
    await copied.getByText('Copied from another chat').waitFor();
    await copied.getByRole('button', { name: 'Trace' }).click();
    await page.getByRole('complementary', { name: 'Trace' }).getByRole('list', { name: 'Timeline' }).waitFor();
    await own.getByRole('link', { name: 'Run' }).waitFor();
    expect(await own.getByText('Copied from another chat').count()).toBe(0);
    const runs = await succeed<{ items: { id: string }[] }>(fixture.service, 'RUN_LIST', {
      where: { field: ['thread_id'], operator: 'eq', value: thread.id },
    });
    const href = await copied.getByRole('link', { name: 'Run' }).getAttribute('href');
    expect(runs.items.map(({ id }) => id)).toContain(href?.split('/').at(-1));
    expect(JSON.stringify(await thread.messages())).not.toContain('the changed');
  });

  it('posts with the chosen tier and temperature, and shows how a program does that', async () => {
    const { page, thread } = await openChat('hello');
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Tier').selectOption('fast');
    await page.getByLabel('Temperature').fill('0.5');
    await page.getByRole('button', { name: 'Done' }).click();
    // The address keeps them.
    await page.reload();
    await page.getByRole('button', { name: 'Options: fast, temperature 0.5' }).waitFor();
    await send(page, 'quick');
    await answers(page).getByText('You said: quick').waitFor();
    const where = { field: ['thread_id'], operator: 'eq', value: thread.id };
    const { items } = await succeed<{ items: object[] }>(fixture.service, 'RUN_LIST', { where });
    expect(items[0]).toMatchObject({ tier: 'fast', temperature: 0.5 });
    await page.getByLabel('Message', { exact: true }).fill("it's");
    await page.getByRole('button', { name: 'Use in code' }).click();
    const dialog = page.getByRole('dialog', { name: 'Use in code' });
    await dialog.getByText(`"text":"it'\\''s"`).waitFor();
    await opened.expectAccessible();
    for (const language of ['TypeScript', 'Python']) {
      await dialog.getByRole('tab', { name: language }).click();
      await dialog
        .getByRole('region', { name: `${language} code` })
        .getByText(thread.id)
        .waitFor();
    }
  });

  it('asks three agents side by side, though the browser reads two answers at a time', async () => {
    const other = await createAgent(fixture.service, [], { title: 'Points' });
    opened = await fixture.open(`playground?agent=${agentId}`);
    const { page } = opened;
    await page.getByRole('button', { name: 'Add a column' }).click();
    await page.getByRole('button', { name: 'Add a column' }).click();
    const message = page.getByLabel('Message', { exact: true });
    await message.pressSequentially('/call get-s');
    await page.getByRole('option', { name: 'get-sum' }).click();
    expect(await message.inputValue()).toBe('/call get-sum {}');
    const columns = [1, 2, 3].map((number) => page.getByRole('region', { name: `Column ${number}` }));
    const [first, second, third] = columns as [Locator, Locator, Locator];
    await second.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Tier').selectOption('fast');
    await page.getByRole('button', { name: 'Done' }).click();
    await third.getByRole('button', { name: /^Agent/ }).click();
    await page.getByRole('dialog').getByRole('option', { name: 'Points' }).click();
    await send(page, `/words 3\n${LONG}`);
    await page.getByText('Waits for its turn').first().waitFor();
    for (const column of columns) await column.getByText('word1 word2 word3').waitFor();
    const threadIds = ['thread', 'thread2', 'thread3'].map((name) => new URL(page.url()).searchParams.get(name) ?? '');
    expect(new Set(threadIds).size).toBe(3);
    await page.reload();
    for (const column of columns) await column.getByText('word1 word2 word3').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    for (const column of columns) await column.getByText('Stopped before the answer was complete.').waitFor();

    await send(page, 'All of you');
    for (const column of columns) {
      await column.getByText('You said: All of you', { exact: true }).waitFor();
      await column.getByText(/^[\d,]+ tokens$/).waitFor();
    }
    await opened.expectAccessible();
    await opened.expectToFit(360);
    const where = { field: ['thread_id'], operator: 'in', value: threadIds };
    const { items } = await succeed<{ items: { thread_id: string; tier: string; agent_id: string }[] }>(
      fixture.service,
      'RUN_LIST',
      { where },
    );
    expect(items).toHaveLength(6);
    const firstTier = items.find(({ thread_id: id }) => id === threadIds[0])?.tier;
    for (const { thread_id: id, tier, agent_id: agent } of items) {
      expect(tier).toBe(id === threadIds[1] ? 'fast' : firstTier);
      expect(agent).toBe(id === threadIds[2] ? other : agentId);
    }
    expect(firstTier).not.toBe('fast');

    await first.getByRole('button', { name: 'Remove column 1' }).click();
    await third.waitFor({ state: 'detached' });
    await second.getByRole('heading', { name: 'Points' }).waitFor();
    await second.getByRole('link', { name: 'Open alone' }).click();
    await answers(page).last().getByText('You said: All of you', { exact: true }).waitFor();
    expect(page.url()).toContain(`/playground/${threadIds[2]}`);
    expect(opened.problems).toEqual([]);
  });

  it('begins a column with a copy of the first, and reads back to the answer whose trace is shown', async () => {
    const thread = await ThreadClient.create(fixture.service, agentId);
    const { taskId } = await thread.ask('/words 300');
    // A chat begins with the last forty messages.
    for (let count = 0; count < 20; count++) await thread.ask('once more');
    opened = await fixture.open(`playground/${thread.id}?trace=${taskId}`);
    const { page } = opened;
    await answers(page).first().getByText('word300').waitFor();
    const trace = page.getByRole('complementary', { name: 'Trace' });
    await trace.getByRole('list', { name: 'Timeline' }).waitFor();
    await trace.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('link', { name: 'Add a column' }).click();
    const column = page.getByRole('region', { name: 'Column 2' });
    await column.getByText('without the messages of column 1').waitFor();
    await opened.expectAccessible();
    await column.getByRole('button', { name: 'Copy the messages of column 1' }).click();
    await answers(page).nth(20).waitFor();
    await column.getByText('You said: once more').last().waitFor();
    // The answers of both columns are of the same runs: the trace is that of one column.
    await column.getByRole('button', { name: 'Trace' }).last().click();
    await page.getByRole('dialog', { name: 'Trace' }).getByRole('list', { name: 'Timeline' }).waitFor();
    expect(await page.getByRole('dialog', { name: 'Trace' }).count()).toBe(1);
    await page.keyboard.press('Escape');
    await column.getByRole('button', { name: 'Trace' }).last().and(page.locator(':focus')).waitFor();
    const copied = new URL(page.url()).searchParams.get('thread2') ?? '';
    expect(copied).not.toBe(thread.id);
    await column.evaluate((pane) => pane.scrollTo({ top: 0 }));
    await column.getByRole('button', { name: 'To the end' }).click();
    await column.getByRole('button', { name: 'To the end' }).waitFor({ state: 'detached' });
    await column.getByRole('button', { name: 'Use in code' }).click();
    await page.getByRole('dialog', { name: 'Use in code' }).getByText(copied).waitFor();

    await page.goto(fixture.address(`playground/${copied}?trace=${taskId}`));
    await answers(page).first().getByText('word300').waitFor();
    await trace.getByRole('list', { name: 'Timeline' }).waitFor();
    expect(opened.problems).toEqual([]);
  });

  it('gives the text back when the service refuses the message', async () => {
    const { page } = await openChat('hello');
    await page.route('**/messages', (route) =>
      route.fulfill({
        status: 429,
        contentType: 'application/problem+json',
        body: JSON.stringify({ status: 429, code: 'too_many_runs', detail: 'Too many runs wait.', request_id: 'r-1' }),
      }),
    );
    await send(page, 'once more');
    await page.getByRole('alert').getByText('Too many runs wait.').waitFor();
    await page.getByRole('alert').getByText('Request r-1').waitFor();
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('once more');
    expect(await conversation(page).getByRole('article', { name: 'You' }).count()).toBe(1);
    await page.unroute('**/messages');
    await page.getByRole('button', { name: 'Send' }).click();
    await answers(page).getByText('You said: once more').waitFor();
  });

  it('gives the text of a refused message back in front of what was written since', async () => {
    const { page } = await openChat('hello');
    const answered = Promise.withResolvers<void>();
    await page.route('**/messages', async (route) => {
      await answered.promise;
      await route.fulfill({ status: 429, body: '{}' });
    });
    await send(page, 'first thought');
    const message = page.getByLabel('Message', { exact: true });
    expect(await message.inputValue()).toBe('');
    await message.fill('second thought');
    answered.resolve();
    await page.getByRole('alert').waitFor();
    expect(await message.inputValue()).toBe('first thought\nsecond thought');
  });

  it('shows that the model is asked again, and what it thought', async () => {
    const model = await startFakeOpenAI();
    try {
      await useScriptedModel(fixture.service, model);
      const { page } = await openChat('hello');
      await page.goto(`${page.url()}?tier=thinking`);
      model.script({ kind: 'status', status: 503, headers: { 'retry-after-ms': '50000' } });
      await send(page, 'Is line 6 free?');
      await page.getByRole('status').getByText('HTTP 503').waitFor();
      await page.getByRole('status').getByText('Call 2 of 3 follows in 50.0 s.').waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await answers(page).getByText('Stopped before the answer was complete.').waitFor();
      await page.getByRole('status').getByText('HTTP 503').waitFor({ state: 'detached' });
      model.script({ kind: 'status', status: 503, headers: { 'retry-after-ms': '20' } });
      const deltas = [{ reasoning_content: 'Which line, and where?' }, { content: 'Line 7 is free.' }];
      model.script({ kind: 'body', contentType: 'text/event-stream', body: eventsOf(deltas) });
      await send(page, 'Is line 7 free?');
      await answers(page).getByText('Line 7 is free.').waitFor();
      await answers(page).getByText('Reasoning', { exact: true }).click();
      await answers(page).getByText('Which line, and where?').waitFor();
      await opened.expectAccessible();
    } finally {
      await model.close();
    }
  });

  it('says what is missing: the thread, the permission', async () => {
    opened = await fixture.open('playground/no-such-thread');
    await opened.page.getByRole('alert').getByText('This could not be loaded.').waitFor();
    await opened.expectAccessible();
    await opened.close();
    opened = await fixture.open('playground', { role: 'member', colorScheme: 'dark' });
    await opened.page.getByText('You do not have access to this.').waitFor();
    await opened.expectAccessible();
  });

  it('is accessible in the dark theme, and fits a telephone', async () => {
    const thread = await ThreadClient.create(fixture.service, agentId);
    await thread.ask('/call get-structured-content {"location":"Chicago"}\n/call nothing {}\n/fail broken');
    opened = await fixture.open(`playground/${thread.id}`, { colorScheme: 'dark' });
    await answers(opened.page).getByText('The run failed.').waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    const call = opened.page.getByRole('region', { name: 'Tool call get-structured-content' });
    await call.locator('summary').first().click();
    const result = call.getByRole('region', { name: 'Result of get-structured-content, structured' });
    await result.getByText('conditions: ').waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await call.getByRole('button', { name: 'Show as text' }).last().click();
    await result.getByText('"conditions"').waitFor();
    expect(JSON.parse((await result.textContent()) ?? '')).toHaveProperty('conditions');
  });
});
