import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Browser, BrowserContext, Page, Response } from 'playwright-core';
import { hasChromium, inBrowser, connectChromium } from '../../support/chromium.js';
import { showColorScheme } from '../../support/color-scheme.js';
import { PAGES, PagesFixture } from './pages.support.js';

const TIMEOUT_MS = 60_000;
const AXE: RunOptions = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] };
/** WCAG 2.2 §1.4.10: without scrolling in two dimensions. */
const NARROWEST = { width: 320, height: 640 };

let fixture: PagesFixture;
let browser: Browser;
let axeSource: string;

beforeAll(async () => {
  if (!hasChromium) return;
  fixture = await PagesFixture.start();
  browser = await connectChromium();
  axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
}, TIMEOUT_MS);
afterAll(async () => {
  await browser?.close();
  await fixture?.close();
});

/** Scripts for the page. They are text, because tests have no types of the DOM. */
const FOCUSABLE = `[...document.querySelectorAll('a[href], button, input:not([type="hidden"])')].map((one) => one.outerHTML)`;
const HAS_FOCUS = `document.activeElement.matches('input')`;
const FOCUSED = `(({ outlineStyle, outlineWidth }) => ({
  markup: document.activeElement.outerHTML,
  outline: outlineStyle === 'none' ? 0 : Number.parseFloat(outlineWidth),
}))(getComputedStyle(document.activeElement))`;

/** Runs in the page. */
declare const axe: { run(options: RunOptions): Promise<AxeResults> };

async function violationsIn(page: Page): Promise<string[]> {
  const { violations, passes } = await page.evaluate((options) => axe.run(options), AXE);
  if (!passes.some(({ id }) => id === 'color-contrast')) throw new Error('axe did not check the contrast.');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

inBrowser.each(PAGES)('the page: %s', (_what, heading, open) => {
  let context: BrowserContext;
  let page: Page;
  /** The last document that the service sent. */
  let document: Response | undefined;
  const messages: string[] = [];

  beforeAll(async () => {
    // The pages forbid every script, and so the one of axe.
    context = await browser.newContext({ bypassCSP: true });
    page = await context.newPage();
    page.on('response', (response) => {
      if (response.request().isNavigationRequest()) document = response;
    });
    page.on('pageerror', ({ message }) => messages.push(message));
    page.on('requestfailed', (request) => messages.push(request.url()));
    await open(fixture, page);
  }, TIMEOUT_MS);
  afterAll(() => context?.close());

  it('has its heading, in the title too, and loads everything that it needs', async () => {
    const text = await page.getByRole('heading', { level: 1 }).innerText();
    expect(text).toMatch(heading);
    expect(await page.title()).toBe(`${text} · Signalbox`);
    expect(messages).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('has no accessibility violation in %s colors', async (colorScheme) => {
    await showColorScheme(page, colorScheme);
    await page.evaluate(axeSource);
    expect(await violationsIn(page)).toEqual([]);
  });

  it('fits a narrow screen', async () => {
    const { width } = NARROWEST;
    const before = page.viewportSize();
    await page.setViewportSize(NARROWEST);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    if (before !== null) await page.setViewportSize(before);
  });

  it('can be used with the keyboard: the focus is visible, in the order of the page', async () => {
    const all = await page.evaluate<string[]>(FOCUSABLE);
    const focused: string[] = [];
    for (let at = 0; at < all.length; at++) {
      // A field can have the focus from the start.
      if (at > 0 || !(await page.evaluate<boolean>(HAS_FOCUS))) await page.keyboard.press('Tab');
      const { markup, outline } = await page.evaluate<{ markup: string; outline: number }>(FOCUSED);
      focused.push(markup);
      expect({ markup, isVisible: outline >= 2 }).toEqual({ markup, isVisible: true });
    }
    expect(focused).toEqual(all);
  });

  it('contains no script, is not stored, leaks no address and cannot be framed', async () => {
    const headers = document?.headers() ?? {};
    const policy = headers['content-security-policy']?.split('; ') ?? [];
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"]),
    );
    expect(policy.join(' ')).not.toMatch(/script-src|unsafe|\*/);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
    });
    expect(await document?.text()).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+=|javascript:/i);
  });
});
