import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { PASSWORD } from '../../identity/sign-in/people.js';
import { hasChromium, inBrowser, connectChromium } from '../../support/chromium.js';
import { PagesFixture, submit } from './pages.support.js';

const TIMEOUT_MS = 60_000;
const NEW_PASSWORD = 'walnut kettle orbit marble';

let fixture: PagesFixture;
let browser: Browser;

beforeAll(async () => {
  if (!hasChromium) return;
  fixture = await PagesFixture.start();
  browser = await connectChromium();
}, TIMEOUT_MS);
afterAll(async () => {
  await browser?.close();
  await fixture?.close();
});

/** A person who uses the pages with a browser of the own, without scripts. */
async function newPage(): Promise<Page> {
  return (await browser.newContext({ javaScriptEnabled: false })).newPage();
}

function headingOf(page: Page): Promise<string> {
  return page.getByRole('heading', { level: 1 }).innerText();
}

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.goto(fixture.address('/sign-in'));
  await submit(page, { email, password });
}

inBrowser('without scripts', () => {
  it('a person becomes the owner, signs out, signs in and changes the password', async () => {
    const page = await newPage();
    await page.goto(fixture.address(fixture.service.setupPath ?? ''));
    await submit(page, { name: 'Olga', email: 'olga@example.com', password: PASSWORD });
    expect(await headingOf(page)).toBe('Signed in as Olga');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, 'olga@example.com', PASSWORD);
    await page.getByRole('link', { name: 'Change your password' }).click();
    await submit(page, { current_password: PASSWORD, password: NEW_PASSWORD });
    expect(await headingOf(page)).toBe('Your password is changed');
    const elsewhere = await newPage();
    await signIn(elsewhere, 'olga@example.com', NEW_PASSWORD);
    expect(await headingOf(elsewhere)).toBe('Signed in as Olga');
    await page.context().close();
    await elsewhere.context().close();
  });

  it('a person corrects the faults of an invitation, joins, and sets a new password with a link', async () => {
    const page = await newPage();
    await page.goto(await fixture.invite('ada@example.com'));
    await submit(page, { name: 'Ada', password: 'short' });
    await page.getByRole('link', { name: 'The password must have at least 12 characters.' }).click();
    expect(new URL(page.url()).hash).toBe('#password');
    await submit(page, { password: PASSWORD });
    expect(await headingOf(page)).toBe('Signed in as Ada');
    const elsewhere = await newPage();
    await elsewhere.goto(await fixture.resetLink('ada@example.com'));
    await submit(elsewhere, { password: NEW_PASSWORD });
    expect(await headingOf(elsewhere)).toBe('Signed in as Ada');
    await page.reload();
    expect(await headingOf(page)).toBe('Sign in');
    await page.context().close();
    await elsewhere.context().close();
  });
});
