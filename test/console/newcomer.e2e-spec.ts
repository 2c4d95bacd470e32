import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const TIMEOUT_MS = 180_000;
/** More than any view has before its main content. */
const MAX_TABS = 150;
/** `PICTURES=docs/pictures` stores a picture of each step and of each view. */
const PICTURES = process.env['PICTURES'];
const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } } as const;
const VIEWS = [
  'overview',
  'playground',
  'threads',
  'runs',
  'connections',
  'agents',
  'keys',
  'access',
  'monitoring',
  'settings',
];

let fixture: ConsoleFixture;
let upstream: EverythingServer;

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), animations: 'disabled' });
}

/** A person who has no pointing device. */
class KeyboardUser {
  constructor(private readonly page: Page) {}

  /** Presses Tab until the control has the focus. */
  async reach(control: Locator): Promise<void> {
    await control.waitFor();
    for (let tabs = 0; tabs < MAX_TABS; tabs++) {
      if (await control.evaluate((element) => element.matches(':focus'))) return;
      await this.page.keyboard.press('Tab');
    }
    throw new Error(`The keyboard does not reach ${control.toString()}.`);
  }

  async press(control: Locator, key = 'Enter'): Promise<void> {
    await this.reach(control);
    await this.page.keyboard.press(key);
  }

  async write(control: Locator, text: string): Promise<void> {
    await this.reach(control);
    await this.page.keyboard.type(text);
  }

  /** Chooses in a list by typing the beginning of the option. */
  async choose(control: Locator, option: string): Promise<void> {
    await this.reach(control);
    await this.page.keyboard.type(option);
  }
}

inBrowser('a newcomer with a keyboard and an empty installation', () => {
  let opened: ConsolePage;
  let page: Page;
  let user: KeyboardUser;

  beforeAll(async () => {
    [fixture, upstream] = await Promise.all([ConsoleFixture.start(newTenant), startEverything()]);
    opened = await fixture.open('overview');
    ({ page } = opened);
    user = new KeyboardUser(page);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await Promise.all([fixture?.close(), upstream?.close()]);
  });

  async function view(name: string): Promise<void> {
    await user.press(page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true }));
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  }

  it('connects a server', async () => {
    await page.getByRole('link', { name: 'Connect a server' }).waitFor();
    await picture(page, '1-empty');
    await user.press(page.getByRole('link', { name: 'Connect a server' }));
    const dialog = page.getByRole('dialog');
    await user.write(dialog.getByRole('textbox', { name: 'Title' }), 'Everything');
    await user.write(dialog.getByRole('textbox', { name: 'Address' }), upstream.url);
    await user.press(dialog.getByRole('button', { name: 'Create connection' }));
    await dialog.getByText('13 tools, 13 chosen').waitFor();
    await user.press(dialog.getByRole('link', { name: 'Open connection' }));
    await user.press(page.getByRole('button', { name: 'Test connection' }));
    await page.getByText(/Listed \d+ tools/).waitFor();
    await picture(page, '2-connection');
  });

  it('makes an agent that asks before one tool', async () => {
    await view('Agents');
    await user.press(page.getByRole('link', { name: 'Create the first agent' }));
    await user.write(page.getByRole('textbox', { name: 'Title' }), 'Signaller');
    await user.press(page.getByRole('button', { name: 'Add Everything' }));
    const approvals = page.getByRole('combobox', { name: 'Approvals of Everything' });
    await approvals.waitFor();
    await user.choose(approvals, await approvals.locator('option').last().innerText());
    await user.press(page.getByRole('checkbox', { name: 'Ask before get-sum' }), 'Space');
    await user.press(page.getByRole('button', { name: 'Create agent' }));
    await page.getByRole('heading', { level: 1, name: 'Signaller' }).waitFor();
    await picture(page, '3-agent');
  });

  it('talks to it, and approves a call', async () => {
    await view('Playground');
    const message = page.getByLabel('Message', { exact: true });
    await user.write(message, 'Hello, is anybody there?');
    await opened.sendWithEnter();
    await page.getByText('You said: Hello, is anybody there?', { exact: true }).waitFor();
    await picture(page, '4-chat');
    await user.write(message, '/call get-sum {"a":40,"b":2}');
    await opened.sendWithEnter();
    const call = page.getByRole('region', { name: 'Tool call get-sum' });
    await call.getByRole('button', { name: 'Approve' }).waitFor();
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await picture(page, '5-approval');
    await user.press(call.getByRole('button', { name: 'Approve' }));
    await page.getByText('get-sum returned: The sum of 40 and 2 is 42.', { exact: true }).waitFor();
    await user.write(message, '/fail out of coal');
    await opened.sendWithEnter();
    await page.getByText('The run failed.').waitFor();
  });

  it('finds the run that failed', async () => {
    await view('Runs');
    await user.press(
      page
        .getByRole('row', { name: /failed/ })
        .getByRole('link')
        .first(),
    );
    await page.getByRole('alert', { name: 'Error' }).getByText('out of coal').waitFor();
    await opened.settled();
    // The link is gone with its view: the keyboard goes on in the next one.
    await page.getByRole('main').and(page.locator(':focus')).waitFor();
    await picture(page, '6-failed-run');
  });

  it('hands out a key', async () => {
    await view('Keys');
    await user.press(page.getByRole('button', { name: 'Create key' }).first());
    const dialog = page.getByRole('dialog');
    await user.write(dialog.getByLabel('Name', { exact: true }), 'shop chatbot');
    await user.press(dialog.getByRole('button', { name: 'Create key' }));
    await dialog.getByLabel('Value of the key').waitFor();
    await picture(page, '7-key');
    await user.press(dialog.getByRole('button', { name: 'Done' }));
    await page.getByRole('button', { name: 'Create key', disabled: false }).and(page.locator(':focus')).waitFor();
  });

  it('takes the key back, and goes on where it was', async () => {
    const name = page.getByRole('button', { name: 'shop chatbot', exact: true });
    await user.press(name);
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await name.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await user.press(page.getByRole('dialog').getByRole('button', { name: 'Delete key' }));
    await user.press(page.getByRole('alertdialog').getByRole('button', { name: 'Delete key' }));
    await name.waitFor({ state: 'detached' });
    await page
      .getByRole('main')
      .locator(':focus')
      .or(page.getByRole('main').and(page.locator(':focus')))
      .waitFor();
  });

  it('sees it all in one picture', async () => {
    await view('Overview');
    // The labels of the axes: the code of the charts is loaded last.
    await page.getByRole('region', { name: 'Calls over time' }).locator('svg text').first().waitFor();
    await opened.settled();
    await picture(page, '8-overview');
  });

  it('saves the record of calls', async () => {
    await view('Monitoring');
    const saving = page.waitForEvent('download');
    await user.press(page.getByRole('button', { name: 'Export CSV' }));
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe('signalbox-calls.csv');
    expect(await text(await saved.createReadStream())).toMatch(/^id,at,[^]*get-sum/);
    expect(opened.problems).toEqual([]);
  });

  it('sees a run that somebody else starts, without a reload', async () => {
    await view('Runs');
    await opened.settled();
    const rows = page.getByRole('region', { name: 'Runs' }).getByRole('row');
    const before = await rows.count();
    const { body } = await fixture.service.tool('COLLECTION_VIRTUAL_MCP_LIST', {}).expect(200);
    await (await ThreadClient.create(fixture.service, body.items[0].id)).ask('Hello from elsewhere');
    await rows.nth(before).waitFor();
    expect(opened.problems).toEqual([]);
  });

  it.each(VIEWS)(
    'finds %s accessible in light and dark colors, and on a narrow screen',
    async (name) => {
      const shown = await fixture.open(name);
      await shown.settled();
      await shown.expectAccessibleInBothThemes();
      await shown.expectToFit(360);
      if (PICTURES !== undefined) await pictureEverySize(shown.page, name);
      await shown.close();
    },
    TIMEOUT_MS,
  );
});

async function pictureEverySize(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.setViewportSize(viewport);
      await picture(page, `${name}-${colorScheme}-${size}`);
    }
  }
}
