import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { ThreadClient } from '../support/agent-runs.js';
import { addPerson, newEmail, PASSWORD } from '../identity/sign-in/people.js';
import { inBrowser } from '../support/chromium.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';
import { picture, PICTURES } from './pictures.js';

const TIMEOUT_MS = 180_000;
/** More than any view has before its main content. */
const MAX_TABS = 150;
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

/** A person who has no pointing device. */
class KeyboardUser {
  constructor(private readonly page: Page) {}

  /** Presses Tab, or another key, until the control has the focus. */
  async reach(control: Locator, key = 'Tab'): Promise<void> {
    await control.waitFor();
    for (let tabs = 0; tabs < MAX_TABS; tabs++) {
      if (await control.evaluate((element) => element.matches(':focus'))) return;
      await this.page.keyboard.press(key);
    }
    throw new Error(`The keyboard does not reach ${control.toString()}.`);
  }

  /** Presses Shift and Tab until the control has the focus. */
  back(control: Locator): Promise<void> {
    return this.reach(control, 'Shift+Tab');
  }

  async press(control: Locator, key = 'Enter'): Promise<void> {
    await this.reach(control);
    await this.page.keyboard.press(key);
  }

  async write(control: Locator, text: string): Promise<void> {
    await this.reach(control);
    await this.page.keyboard.type(text);
  }
}

inBrowser('a newcomer with a keyboard and an empty installation', () => {
  let opened: ConsolePage;
  let page: Page;
  let user: KeyboardUser;

  beforeAll(async () => {
    [fixture, upstream] = await Promise.all([ConsoleFixture.start(newTenant), startEverything()]);
    opened = await fixture.openAnonymous(fixture.address('overview'));
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

  it('signs in, after a slip', async () => {
    const email = newEmail();
    await addPerson(fixture.service, { email, name: 'Ada Lovelace', role: 'owner' });
    const address = page.getByRole('textbox', { name: 'E-mail address' });
    await address.and(page.locator(':focus')).waitFor();
    await page.keyboard.type(email);
    await page.keyboard.press('Tab');
    await page.keyboard.type('not the password');
    await page.keyboard.press('Enter');
    await page.getByText('The e-mail address or the password is wrong.').waitFor();
    const password = page.getByLabel('Password', { exact: true });
    await user.reach(password);
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await opened.settled();
    // As after a load of the page, the keyboard begins at its top.
    await page.keyboard.press('Tab');
    await page.getByRole('link', { name: 'Skip to the content' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('main').and(page.locator(':focus')).waitFor();
  });

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
    await user.press(approvals, 'End');
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

  it('makes a role with chosen tools and abilities, and takes one away', async () => {
    await view('Settings');
    await user.press(page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Roles' }));
    await user.press(page.getByRole('button', { name: 'Create role' }));
    const dialog = page.getByRole('dialog', { name: 'Create role' });
    const name = dialog.getByRole('textbox', { name: 'Name' });
    await name.and(page.locator(':focus')).waitFor();
    await page.keyboard.type('night watch');
    const add = dialog.getByRole('button', { name: /^Add the tools of/ });
    await user.press(add);
    await page
      .getByRole('dialog', { name: 'Add the tools of' })
      .getByRole('option', { name: /^Everything/ })
      .waitFor();
    await page.keyboard.type('every');
    await page
      .getByRole('dialog', { name: 'Add the tools of' })
      .getByRole('option', { name: /^Everything/, selected: true })
      .waitFor();
    await page.keyboard.press('Enter');
    await add.and(page.locator(':focus')).waitFor();
    const everything = dialog.getByRole('group', { name: /^Everything/ });
    await user.back(everything.getByRole('checkbox', { name: 'All tools' }));
    await page.keyboard.press('Space');
    await user.press(everything.getByRole('checkbox', { name: 'echo', exact: true }), 'Space');
    await user.press(dialog.locator('summary', { hasText: /^Runs/ }));
    await user.press(dialog.getByRole('checkbox', { name: 'Look at runs' }), 'Space');
    await dialog.getByRole('region', { name: 'In words' }).getByText('call the tool echo of the connection').waitFor();
    await picture(page, '9-role');
    await user.press(dialog.getByRole('button', { name: 'Create role' }));
    await page.getByRole('region', { name: 'Roles' }).getByText('night watch').waitFor();
    await page.getByRole('button', { name: 'Create role' }).and(page.locator(':focus')).waitFor();
    const { body } = await fixture.service.tool('ROLE_LIST', {}).expect(200);
    const role = body.items.find((each: { name: string }) => each.name === 'night watch');
    expect(Object.values(role.permissions)).toContainEqual(['echo']);

    await user.press(page.getByRole('button', { name: 'Edit night watch' }));
    const edited = page.getByRole('dialog', { name: /night watch/ });
    await user.press(edited.getByRole('button', { name: 'Remove Everything' }));
    await edited.getByRole('button', { name: 'Remove Everything' }).waitFor({ state: 'detached' });
    // The button is gone: the keyboard goes on in the dialog.
    await edited
      .locator(':focus')
      .or(edited.and(page.locator(':focus')))
      .waitFor();
    await user.press(edited.getByRole('button', { name: 'Save role' }));
    await edited.waitFor({ state: 'detached' });
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
