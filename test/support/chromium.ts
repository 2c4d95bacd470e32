import { existsSync } from 'node:fs';
import { describe } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';
import type { ChromiumPackage } from './shared-browsers.js';
import { TENANT_SERVICES_URL } from './tenant.js';

const PACKAGES: readonly ChromiumPackage[] = ['chromium-headless-shell', 'chromium'];
const missing = PACKAGES.filter((each) => !existsSync(`/usr/bin/${each}`));

/** Whether tests in a browser run. In CI they always do, and fail without one. */
export const hasChromium = missing.length === 0 || process.env['CI'] !== undefined;
if (!hasChromium) process.stderr.write(`There is no ${missing.join(', no ')}. The tests in a browser are left out.\n`);

/** `describe` for tests in a browser. */
export const inBrowser = hasChromium ? describe : describe.skip;

/**
 * A browser whose process the suites of this Jest worker share. Its contexts are those of this connection: `close` ends
 * them.
 */
export async function connectChromium(from: ChromiumPackage = 'chromium-headless-shell'): Promise<Browser> {
  const answer = await fetch(`${process.env[TENANT_SERVICES_URL]}/browsers/${from}/${process.env['JEST_WORKER_ID']}`);
  if (!answer.ok) throw new Error(await answer.text());
  return chromium.connect(await answer.text());
}
