import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { inBrowser } from '../support/chromium.js';
import { entryOf } from '../support/reference-servers.js';
import {
  type OauthUpstream,
  registerMachine,
  startOauthUpstream,
} from '../connections/upstream-oauth/oauth-upstream.js';
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
    await dialog.getByText(/^\d+ tools, \d+ chosen$/).waitFor();
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
    await dialog.getByText('failed', { exact: true }).waitFor();
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Sign in at the upstream' }).click(),
    ]);
    await tab.getByRole('link').first().click();
    await tab.waitForURL(`${fixture.service.url}/**`);
    await tab.close();

    await dialog.getByRole('button', { name: 'Test again' }).click();
    await dialog.getByText(/^\d+ tools?, \d+ chosen$/).waitFor();
    await dialog.getByRole('link', { name: 'Open connection' }).click();
    await page.getByRole('heading', { level: 1, name: 'Mailbox' }).waitFor();
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

  it('uses the account of a client that has a secret, and keeps the secret when the settings are saved', async () => {
    const { client_id: clientId, client_secret: secret } = await registerMachine(upstream);
    const opened = await fixture.open('connections?create=http');
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Title' }).fill('Machine');
    await dialog.getByRole('textbox', { name: 'Address' }).fill(upstream.url);
    await dialog.getByLabel('Authentication').selectOption({ label: 'Client credentials (OAuth)' });
    await dialog.getByRole('textbox', { name: 'Client id' }).fill(clientId);
    await dialog.getByRole('textbox', { name: 'Client secret' }).fill('wrong');
    await opened.expectAccessible();
    await create(page);
    await dialog.getByText('failed', { exact: true }).waitFor();
    await dialog.getByLabel('Client secret').fill(secret);
    await dialog.getByRole('button', { name: 'Save and test again' }).click();
    await dialog.getByText(/^\d+ tools?, \d+ chosen$/).waitFor();
    expect(upstream.machineTokens).toContain(clientId);

    await dialog.getByRole('link', { name: 'Open connection' }).click();
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByText('A secret is stored. Leave this empty to keep it.').waitFor();
    await page.getByLabel('The client authenticates with').selectOption({ label: 'Private key (private_key_jwt)' });
    await page.getByRole('textbox', { name: 'Private key' }).fill('no key');
    await page.getByRole('button', { name: 'Save settings' }).click();
    await page
      .getByRole('alert')
      .getByText(/private_key/)
      .first()
      .waitFor();
    await page.getByLabel('The client authenticates with').selectOption({ label: 'Client secret' });
    await page.getByRole('textbox', { name: 'Title' }).fill('Robot');
    await page.getByRole('button', { name: 'Save settings' }).click();
    await page.getByRole('heading', { level: 1, name: 'Robot' }).waitFor();
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByText(/Listed \d+ tools?/).waitFor();
    await opened.close();
  }, 120_000);
});
