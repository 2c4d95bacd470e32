import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { expect } from '@jest/globals';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { addPerson, Browser as HttpBrowser, newEmail } from '../identity/sign-in/people.js';
import { connectChromium } from '../support/chromium.js';
import { showColorScheme } from '../support/color-scheme.js';
import type { ChromiumPackage } from '../support/shared-browsers.js';
import type { Tenant } from '../support/tenant.js';
import { layoutFaults } from './layout-faults.js';

const AXE: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
  // Describing what is right takes longer than looking at all of it.
  resultTypes: ['violations'],
};
/** How often and after which pauses a page is looked at again. */
const LOOKS = 150;
const LOOK_MS = 100;
const QUIET_LOOKS = 2;
const WIDE = { width: 1280, height: 800 };

/** Runs in the page. */
declare const axe: { run(options: RunOptions): Promise<AxeResults> };

export interface OpenOptions {
  /** The role of the person who is signed in. */
  readonly role?: string;
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: 'light' | 'dark';
}

/** A service and a browser that opens its console. */
export class ConsoleFixture<Service extends Tenant = Tenant> {
  private constructor(
    readonly service: Service,
    private readonly browser: Browser,
    private readonly axeSource: string,
  ) {}

  /** @param start starts the service */
  static async start<Service extends Tenant>(
    start: () => Promise<Service>,
    browser?: ChromiumPackage,
  ): Promise<ConsoleFixture<Service>> {
    const service = await start();
    const axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    return new ConsoleFixture(service, await connectChromium(browser), axeSource);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.service.close();
  }

  /** The address of a view, such as `threads`, of the organization. */
  address(view = ''): string {
    return `${this.service.url}/console/${this.service.org}/${view}`;
  }

  /** Opens a view as a person of the organization in a browser of its own. */
  async open(
    view: string,
    { role = 'owner', viewport = WIDE, colorScheme = 'light' }: OpenOptions = {},
  ): Promise<ConsolePage> {
    const email = newEmail();
    await addPerson(this.service, { email, name: 'Ada Lovelace', role });
    const http = new HttpBrowser(this.service.url);
    await http.signIn(email);
    const context = await this.browser.newContext({ viewport, colorScheme });
    const value = http.cookies.get('sbx_session') ?? '';
    await context.addCookies([{ name: 'sbx_session', value, url: this.service.url }]);
    return this.openIn(context, this.address(view));
  }

  /** Opens an address in a browser that nobody is signed in with. */
  async openAnonymous(address: string, viewport = WIDE): Promise<ConsolePage> {
    return this.openIn(await this.browser.newContext({ viewport }), address);
  }

  private async openIn(context: BrowserContext, address: string): Promise<ConsolePage> {
    const page = await context.newPage();
    const opened = new ConsolePage(page, context, this.axeSource, new URL(address).origin);
    await page.goto(address);
    return opened;
  }
}

/** A page of the console, and everything that went wrong in it. */
export class ConsolePage {
  /** Errors of scripts, violations of the Content-Security-Policy, requests to other hosts, failed requests. */
  readonly problems: string[] = [];

  constructor(
    readonly page: Page,
    private readonly context: BrowserContext,
    private readonly axeSource: string,
    origin: string,
  ) {
    page.on('pageerror', ({ message }) => this.problems.push(`script: ${message}`));
    page.on('console', (message) => {
      // A refused request of the API is an answer, which the view shows.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
        this.problems.push(`console: ${message.text()}`);
      }
    });
    page.on('request', (request) => {
      const isOwn = request.url().startsWith(`${origin}/`) || request.url().startsWith('data:');
      if (!isOwn) this.problems.push(`request to another host: ${request.url()}`);
    });
  }

  /** Waits until the view has its data. */
  async settled(): Promise<void> {
    // A dialog hides the view behind it from the roles.
    await this.page.getByRole('heading', { level: 1, includeHidden: true }).waitFor();
    // Charts are hidden from the roles.
    const loading = this.page.getByRole('status', { name: /^Loading/ }).or(this.page.locator('[data-loading]'));
    // The parts of a view load one after another: a single look can fall between two of them.
    let quietLooks = 0;
    for (let look = 0; look < LOOKS && quietLooks < QUIET_LOOKS; look++) {
      if (look > 0) await this.page.waitForTimeout(LOOK_MS);
      quietLooks = (await loading.count()) === 0 ? quietLooks + 1 : 0;
    }
    expect(quietLooks).toBe(QUIET_LOOKS);
  }

  /** Sends the written message with Enter, which a chat ignores until the run before it has ended. */
  async sendWithEnter(): Promise<void> {
    await this.page.getByRole('button', { name: 'Send', exact: true, disabled: false }).waitFor();
    await this.page.keyboard.press('Enter');
  }

  /** Checks the page with axe, contrast included, and that nothing went wrong in it. */
  async expectAccessible(): Promise<void> {
    const before = this.page.viewportSize();
    // What is scrolled under the header, or under the field of a chat, is covered in part, and too small for axe.
    const height: number = await this.page.evaluate('document.documentElement.scrollHeight');
    if (before !== null && height > before.height) await this.page.setViewportSize({ width: before.width, height });
    // Through the debugger, which the page's policy does not concern.
    if (!(await this.page.evaluate<boolean>(`'axe' in globalThis`))) await this.page.evaluate(this.axeSource);
    const violations = await this.page
      .evaluate(async (options) => (await axe.run(options)).violations, AXE)
      .finally(() => before && this.page.setViewportSize(before));
    const found = violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
    expect(found).toEqual([]);
    expect(this.problems).toEqual([]);
  }

  /** The same in the light and in the dark theme, which the page follows as that of the system. */
  async expectAccessibleInBothThemes(): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await showColorScheme(this.page, colorScheme);
      await this.expectAccessible();
    }
    await this.page.emulateMedia({ colorScheme: 'light' });
  }

  /**
   * Checks that nothing needs scrolling in two dimensions at this width (WCAG 2.2 §1.4.10), and that the layout has no
   * faults.
   */
  async expectToFit(width: number, height = 740): Promise<void> {
    const before = this.page.viewportSize();
    await this.page.setViewportSize({ width, height });
    const scrollWidth = (): Promise<number> => this.page.evaluate('document.documentElement.scrollWidth');
    // Charts follow the width of the window a little later.
    for (let look = 0; look < LOOKS && (await scrollWidth()) > width; look++) await this.page.waitForTimeout(LOOK_MS);
    expect(await layoutFaults(this.page)).toEqual([]);
    expect(await scrollWidth()).toBeLessThanOrEqual(width);
    if (before !== null) await this.page.setViewportSize(before);
  }

  async close(): Promise<void> {
    // The page may be reading again what a test answers in place of the service.
    await this.page.unrouteAll({ behavior: 'ignoreErrors' });
    await this.context.close();
  }
}
