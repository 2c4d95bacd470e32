import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page, Request } from 'playwright-core';
import { connect, createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const TIMEOUT_MS = 120_000;
/** How often and after which pauses a page is looked at again. */
const LOOKS = 30;
const LOOK_MS = 300;

let fixture: ConsoleFixture;
let upstream: EverythingServer;
let opened: ConsolePage;
/** Calls of tools that the page waits for. */
const open = new Set<Request>();
let page: Page;

beforeAll(async () => {
  if (!hasChromium) return;
  [fixture, upstream] = await Promise.all([ConsoleFixture.start(newTenant), startEverything()]);
  const { service } = fixture;
  const connection = await connect(service, upstream.url, 'Everything');
  const agent = await createAgent(service, [connection], { title: 'Signaller' });
  const thread = await ThreadClient.create(service, agent, 'ticket-1');
  await thread.ask('/call echo {"message":"hi"}');
  await succeed(service, 'API_KEY_CREATE', { name: 'chatbot', permissions: { self: ['RUN_LIST'] } });
  await succeed(service, 'ROLE_CREATE', { name: 'operator', permissions: { self: ['RUN_LIST'] } });
  await succeed(service, 'WEBHOOK_CREATE', { data: { url: 'http://127.0.0.1:9/hook', events: ['run.failed'] } });
  const schedule = { title: 'Morning', virtual_mcp_id: agent, message: 'Report', cron: '0 9 * * 1', timezone: 'UTC' };
  await succeed(service, 'SCHEDULE_CREATE', { data: schedule });
  await succeed(service, 'AI_PROVIDER_CREATE', {
    data: { title: 'Local', kind: 'openai-compatible', base_url: 'http://127.0.0.1:9' },
  });
  opened = await fixture.open('overview');
  ({ page } = opened);
  page.on('request', (request) => {
    if (request.url().includes('/tools/')) open.add(request);
  });
  page.on('requestfinished', (request) => void open.delete(request));
  page.on('requestfailed', (request) => void open.delete(request));
}, TIMEOUT_MS);
afterAll(async () => {
  await opened?.close();
  await fixture?.close();
  await upstream?.close();
});

const button = (name: string | RegExp): Locator => page.getByRole('button', { name }).first();
const link = (name: string): Locator => page.getByRole('link', { name }).first();
const tab = (name: string): Locator => page.getByRole('tab', { name, exact: true });
const dialog = (): Locator => page.getByRole('dialog').last();

/** The texts and the values of fields, without what changes with time. */
async function shown(): Promise<string> {
  await opened.settled();
  const fields = await page
    .locator('input:visible, select:visible, textarea:visible')
    .evaluateAll((found) => found.map((field) => `${field.value} ${field.checked}`));
  const tabs = await page.getByRole('tab', { selected: true }).allInnerTexts();
  const texts = await page.locator('main, [role=dialog]').allInnerTexts();
  const text = texts
    .join('\n')
    .replaceAll(/\b(?:\d+ (?:second|minute|hour|ms|s)s? ago|just now|now)\b/g, '<time>')
    // The axis of a chart
    .replaceAll(/(?:^\d\d:\d\d\n)+/gm, '<times>\n');
  return JSON.stringify([fields, tabs, text]);
}

async function lookAgain(): Promise<string> {
  await page.waitForTimeout(LOOK_MS);
  return shown();
}

inBrowser('an address shows the same again', () => {
  it.each<[what: string, view: string, act: () => Promise<unknown>]>([
    ['a period', 'overview', () => page.getByLabel('Period').selectOption({ index: 2 })],
    ['the agent of a new chat', 'agents', () => link('Open Signaller in the playground').click()],
    ['the filters of threads', 'threads', () => page.getByLabel('Status').selectOption('completed')],
    ['the filters of runs', 'runs', () => button('Not over').click()],
    ['the search for connections', 'connections', () => page.getByRole('searchbox').fill('every')],
    ['a new connection', 'connections', () => button('Create connection').click()],
    [
      'a configuration to import',
      'connections?create=http',
      () => dialog().getByRole('tab', { name: 'Import' }).click(),
    ],
    ['a tool of a connection', 'connections', () => openTool()],
    ['how clients use an agent', 'agents', () => openAgent('Use it')],
    ['the versions of an agent', 'agents', () => openAgent('Versions')],
    ['a new key', 'keys', () => button('Create key').click()],
    ['a key', 'keys', () => button('chatbot').click()],
    ['a key that is edited', 'keys', () => openKey('Edit key')],
    ['a key that is rotated', 'keys', () => openKey('Rotate key')],
    ['a call of the record', 'monitoring', () => button('echo').click()],
    ['an event of the record', 'monitoring?tab=events', () => page.locator('td button').first().click()],
    ['the filters of the record', 'monitoring', () => page.getByLabel('Outcome').selectOption('success')],
    ['statistics by key', 'monitoring?tab=statistics', () => page.getByLabel('Group by').selectOption('key')],
    ['a new webhook', 'settings/webhooks', () => button('Create webhook').click()],
    ['a webhook', 'settings/webhooks', () => button(/^Edit http/).click()],
    ['a new schedule', 'settings/schedules', () => button('Create schedule').click()],
    ['a schedule', 'settings/schedules', () => button('Edit Morning').click()],
    ['a new role', 'settings/roles', () => button('Create role').click()],
    ['a role', 'settings/roles', () => button('Edit operator').click()],
    ['an invitation', 'settings/members', () => button('Invite member').click()],
    ['a provider', 'settings/models', () => button('Edit Local').click()],
    ['a new OAuth client', 'settings/oauth', () => button('Create OAuth client').click()],
  ])('%s', async (_what, view, act) => {
    await page.goto(fixture.address(view));
    await opened.settled();
    const before = page.url();
    await act();
    await page.waitForURL((url) => url.href !== before);
    let then = await shown();
    // A list stays until the next one is read, and charts are drawn a little later.
    for (let next = await lookAgain(); next !== then || open.size > 0; next = await lookAgain()) then = next;
    await page.reload();
    let again = await shown();
    for (let look = 0; look < LOOKS && again !== then; look++) again = await lookAgain();
    expect(again).toBe(then);
    expect(opened.problems).toEqual([]);
  });

  async function openTool(): Promise<void> {
    await link('Everything').click();
    await tab('Tools').click();
    await page.getByRole('link', { name: /get-sum/ }).click();
    await button('Call tool').waitFor();
  }

  async function openAgent(part: string): Promise<void> {
    await link('Signaller').click();
    await tab(part).click();
  }

  async function openKey(action: string): Promise<void> {
    await button('chatbot').click();
    await dialog().getByRole('button', { name: action }).click();
  }
});
