import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { addPerson, newEmail, PASSWORD } from '../identity/sign-in/people.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const TIMEOUT_MS = 60_000;

let fixture: ConsoleFixture;
let opened: ConsolePage;

beforeAll(async () => {
  if (hasChromium) fixture = await ConsoleFixture.start(newTenant);
}, TIMEOUT_MS);
afterEach(() => opened?.close());
afterAll(() => fixture?.close());

/** Everything that a script of the page can read of what the browser keeps. */
const KEPT = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])';

inBrowser('signing in', () => {
  it('takes an e-mail address and a password, and leads to the view in the address', async () => {
    const email = newEmail();
    await addPerson(fixture.service, { email, role: 'owner' });
    opened = await fixture.openAnonymous(fixture.address('threads?status=failed'));
    const { page } = opened;
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').getByText('The e-mail address or the password is wrong.').waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Threads' }).waitFor();
    expect(page.url()).toBe(fixture.address('threads?status=failed'));
    expect(await page.getByLabel('Status').inputValue()).toBe('failed');
  });

  it('takes an API key, which no storage of the browser keeps and a reload forgets', async () => {
    opened = await fixture.openAnonymous(`${fixture.service.url}/console`);
    const { page } = opened;
    await page.getByRole('button', { name: 'Use an API key' }).click();
    await page.getByLabel('API key').fill('sbx_unknown');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('alert').getByText('unknown, revoked or expired').waitFor();
    await page.getByLabel('API key').fill(fixture.service.apiKey);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(page.url()).toBe(fixture.address('overview'));
    expect(await page.evaluate<string>(KEPT)).not.toContain('sbx_');
    await page.getByRole('link', { name: 'Threads' }).click();
    await page.getByText('There are no threads yet.').waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(opened.problems).toEqual([]);
  });

  it('asks again when the session has ended elsewhere', async () => {
    opened = await fixture.open('overview');
    const { page } = opened;
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.context().clearCookies();
    // Any reading of the page notices the end, so the link is perhaps gone already.
    await page.evaluate(`document.querySelector('a[href$="/threads"]')?.click()`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  it('ends the session on request', async () => {
    opened = await fixture.open('overview');
    const { page } = opened;
    await page.getByRole('button', { name: 'Ada Lovelace' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
});

inBrowser('the frame of the views', () => {
  it('reaches every view from the navigation, and names the window after it', async () => {
    opened = await fixture.open('overview');
    const { page } = opened;
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const views = await page.getByRole('navigation', { name: 'Views' }).getByRole('link').allInnerTexts();
    expect(views).toEqual([
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
    ]);
    for (const view of views) {
      await page.getByRole('link', { name: view, exact: true }).click();
      await page.getByRole('heading', { level: 1, name: view }).waitFor();
      expect(await page.title()).toBe(`${view} · Signalbox`);
    }
    expect(opened.problems).toEqual([]);
  });

  it('goes to a thread by a part of its title, with the keyboard alone', async () => {
    const { body } = await fixture.service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Helper' } });
    const data = { id: 'quarterly', title: 'Quarterly figures', virtual_mcp_id: body.item.id };
    await fixture.service.tool('COLLECTION_THREADS_CREATE', { data }).expect(200);
    opened = await fixture.open('overview');
    const { page } = opened;
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Go to' }).waitFor();
    await page.keyboard.type('figures');
    await page.getByRole('option', { name: 'Quarterly figures' }).waitFor();
    await opened.expectAccessible();
    await page.keyboard.press('Enter');
    await page.waitForURL(fixture.address('threads/quarterly'));
    expect(opened.problems).toEqual([]);
  });

  it('acts from the palette and by single keys, which a sheet lists', async () => {
    opened = await fixture.open('overview');
    const { page } = opened;
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.keyboard.press('?');
    const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await sheet.getByText('Create …', { exact: true }).waitFor();
    await sheet.and(page.locator(':focus')).waitFor();
    await opened.expectAccessible();
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    await page.keyboard.press('c');
    const palette = page.getByRole('dialog', { name: 'Go to or do' });
    await palette.getByRole('option', { name: 'Create agent' }).click();
    await page.waitForURL(fixture.address('agents/new'));
    await page.keyboard.press('Control+k');
    await palette.getByRole('combobox').fill('dark');
    await palette.getByRole('option', { name: 'Dark theme' }).click();
    await page.locator('html[data-theme=dark]').waitFor({ state: 'attached' });
    expect(opened.problems).toEqual([]);
  });

  it.each(['light', 'dark'] as const)(
    'follows the %s theme of the system until somebody chooses another',
    async (theme) => {
      opened = await fixture.open('threads', { colorScheme: theme });
      const { page } = opened;
      await page.getByRole('heading', { name: 'Threads' }).waitFor();
      const shown = (): Promise<string> => page.evaluate<string>('document.documentElement.dataset.theme');
      expect(await shown()).toBe(theme);
      await opened.expectAccessible();
      const other = theme === 'light' ? 'dark' : 'light';
      await page.getByRole('button', { name: /^Theme/ }).click();
      await page.getByRole('menuitem', { name: new RegExp(`${other} theme`, 'i') }).click();
      expect(await shown()).toBe(other);
      await page.reload();
      await page.getByRole('heading', { name: 'Threads' }).waitFor();
      expect(await shown()).toBe(other);
    },
  );

  it('has its navigation behind a button on a narrow screen', async () => {
    opened = await fixture.open('threads', { viewport: { width: 360, height: 740 } });
    const { page } = opened;
    await page.getByRole('heading', { name: 'Threads' }).waitFor();
    expect(await page.getByRole('link', { name: 'Runs' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Open navigation' }).click();
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    expect(await page.getByRole('link', { name: 'Threads' }).count()).toBe(0);
  });

  it('has a way on where there is nothing', async () => {
    opened = await fixture.open('threads/some/where/else');
    const { page } = opened;
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    await opened.expectAccessible();
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Threads' }).click();
    await page.getByRole('heading', { level: 1, name: 'Threads' }).waitFor();
  });

  it('stays while the service cannot be reached, says so, and goes on afterwards', async () => {
    opened = await fixture.open('threads');
    const { page } = opened;
    await page.getByText('There are no threads yet.').or(page.getByRole('table')).first().waitFor();
    await page.context().setOffline(true);
    // Its code is not loaded yet.
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page.getByRole('status').getByText('The service cannot be reached.').waitFor();
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Runs' }).waitFor();
    await page.context().setOffline(false);
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
    await page.getByText('The service cannot be reached.').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Helper' }).or(page.getByText('There are no agents yet.')).first().waitFor();
  });

  it('says so at an address of an organization that the caller is not a member of', async () => {
    opened = await fixture.open('threads');
    const { page } = opened;
    await page.goto(`${fixture.service.url}/console/elsewhere/threads`);
    await page.getByText('You are not a member of the organization').waitFor();
    await page.getByRole('link', { name: /^Open / }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });
});
