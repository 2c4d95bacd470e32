import { existsSync } from 'node:fs';
import { describe } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';

/** Where Debian's package installs it (`.ci/run`). */
const CHROMIUM = '/usr/bin/chromium';

/** Whether tests in a browser run. In CI they always do, and fail without one. */
export const hasChromium = existsSync(CHROMIUM) || process.env['CI'] !== undefined;
if (!hasChromium) process.stderr.write(`There is no ${CHROMIUM}. The tests in a browser are left out.\n`);

/** `describe` for tests in a browser. */
export const inBrowser = hasChromium ? describe : describe.skip;

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
}
