import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { inBrowser } from '../support/chromium.js';
import { entryOf } from '../support/reference-servers.js';
import { type OauthUpstream, startOauthUpstream } from '../connections/upstream-oauth/oauth-upstream.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture } from './console-fixture.js';

inBrowser('kinds of connections in the console', () => {
  let fixture: ConsoleFixture;
  let upstream: OauthUpstream;
  beforeAll(async () => {
    [fixture, upstream] = await Promise.all([ConsoleFixture.start(newTenant), startOauthUpstream()]);
  }, 120_000);
  afterAll(async () => {
    await Promise.all([fixture?.close(), upstream?.close()]);
  });

  async function create(page: Page): Promise<void> {
    await page.getByRole('dialog').getByRole('button', { name: 'Create connection' }).click();
  }

  it('creates a program, and tests it', async () => {
    const opened = await fixture.open('connections');
    const { page } = opened;
    await page.getByRole('button', { name: 'Create connection' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('tab', { name: 'Program' }).click();
    await dialog.getByRole('textbox', { name: 'Title' }).fill('Local');
    await dialog.getByRole('textbox', { name: 'Command' }).fill('python');
    await dialog.getByRole('textbox', { name: 'Arguments (optional)' }).fill(`${entryOf('server-everything')}\nstdio`);
    await opened.expectAccessible();
    await create(page);
    // The operator allows other commands.
    await dialog.getByRole('alert').waitFor();
    await dialog.getByRole('textbox', { name: 'Command' }).fill('node');
    await create(page);
    await page.getByRole('heading', { level: 1, name: 'Local' }).waitFor();
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByText(/Listed \d+ tools/).waitFor();
    await opened.close();
  }, 120_000);

  it('signs in to a server that demands OAuth, and out again', async () => {
    const opened = await fixture.open('connections');
    const { page } = opened;
    await page.getByRole('button', { name: 'Create connection' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Title' }).fill('Mailbox');
    await dialog.getByRole('textbox', { name: 'Address' }).fill(upstream.url);
    await dialog.getByLabel('Authentication').selectOption('oauth');
    await create(page);
    await page.getByRole('heading', { level: 1, name: 'Mailbox' }).waitFor();
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Sign in at the upstream' }).click(),
    ]);
    await tab.getByRole('link').first().click();
    await tab.waitForURL(`${fixture.service.url}/**`);
    await tab.close();

    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByText(/Listed \d+ tools/).waitFor();
    await opened.expectAccessible();
    await page.getByRole('button', { name: 'Sign out of the upstream' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out of the upstream' }).click();
    await page.getByText('The account was forgotten.').waitFor();
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByText(/^Could not connect: /).waitFor();
    expect(upstream.registrations).toBe(1);
    await opened.close();
  }, 120_000);
});
