import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** The folder for pictures of what tests see (`PICTURES=docs/pictures`); undefined takes none. */
export const PICTURES = process.env['PICTURES'];

/** Stores what the window shows. */
export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), animations: 'disabled' });
}
