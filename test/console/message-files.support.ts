import { randomBytes } from 'node:crypto';
import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { png } from '../runtime/files/files.support.js';
import { eventually } from '../support/eventually.js';

/** A file of the person in front of the browser. */
export interface Picked {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

/** A picture that no other test has. */
export const picture = (name: string): Picked => ({ name, mimeType: 'image/png', buffer: png(randomBytes(8)) });

export const PDF: Picked = {
  name: 'plan.pdf',
  mimeType: 'application/pdf',
  buffer: Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF'),
};

export const conversation = (page: Page): Locator => page.getByRole('list', { name: 'Conversation' });
export const image = (page: Page, name: string): Locator => conversation(page).getByRole('img', { name, exact: true });

/** Waits until the picture is drawn: a broken one has no width. */
export async function expectDrawn(shown: Locator): Promise<void> {
  await eventually(async () =>
    expect(await shown.evaluate((img) => (img as unknown as { naturalWidth: number }).naturalWidth)).toBe(1),
  );
}
