import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import type { FileItem } from '../../src/runtime/files/file.dto.js';
import { uploaded } from '../runtime/files/files.support.js';
import { createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';
import { PDF, picture } from './message-files.support.js';

inBrowser('Files of the organization', () => {
  let fixture: ConsoleFixture;
  let opened: ConsolePage;
  let plan: FileItem;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start(newTenant);
    const { service } = fixture;
    await succeed(service, 'ROLE_CREATE', { name: 'reader', permissions: { self: ['FILE_LIST'] } });
    const disposition = `attachment; filename="${PDF.name}"`;
    plan = await uploaded(service, PDF.buffer, { type: PDF.mimeType, disposition });
    await uploaded(service, picture('').buffer);
    const agent = { id: await createAgent(service, []) };
    const parts = [
      { type: 'file', mediaType: PDF.mimeType, url: plan.url },
      { type: 'text', text: 'Look at this.' },
    ];
    const thread = await ThreadClient.create(service, agent.id);
    const { body } = await thread.post({ messages: [{ role: 'user', parts }], agent }).expect(202);
    await thread.collect(body.taskId);
  });
  afterEach(() => opened?.close());
  afterAll(() => fixture?.close());

  const row = (page: Page, name: string): Locator => page.getByRole('row').filter({ hasText: name });

  it('are listed for those who may see them, without what they may not do', async () => {
    opened = await fixture.open('settings/files', { role: 'reader' });
    const { page } = opened;
    await row(page, PDF.name).getByText(`${PDF.buffer.length} bytes`).waitFor();
    await row(page, PDF.name).getByText('application/pdf').waitFor();
    await row(page, 'without a name').getByText('image/png').waitFor();
    expect(await page.getByRole('button', { name: 'Delete file' }).count()).toBe(0);
  });

  it('are deleted after a confirmation; one that a message names stays in the list', async () => {
    opened = await fixture.open('settings/limits');
    const { page } = opened;
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Files' }).click();
    const dialog = page.getByRole('alertdialog');
    const remove = (name: string): Promise<void> =>
      row(page, name).getByRole('button', { name: 'Delete file' }).click();
    await remove(PDF.name);
    await dialog.getByText(`Delete the file “${PDF.name}”?`).waitFor();
    await opened.expectAccessible();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await files()).toHaveLength(2);

    await remove(PDF.name);
    await dialog.getByRole('button', { name: 'Delete file' }).click();
    await page.getByText('The file was deleted.').waitFor();
    await row(page, PDF.name).getByText('deleted', { exact: true }).waitFor();
    expect(await row(page, PDF.name).getByRole('button').count()).toBe(0);
    await remove('without a name');
    await dialog.getByRole('button', { name: 'Delete file' }).click();
    // The dialog hides the list from the roles, and closes when the list was read again.
    await dialog.waitFor({ state: 'detached' });
    expect(await row(page, 'without a name').count()).toBe(0);
    expect(await files()).toMatchObject([{ id: plan.id, deleted: true }]);
    await opened.settled();
    await opened.expectAccessible();
    await opened.expectToFit(360);
  });

  async function files(): Promise<FileItem[]> {
    return (await succeed<{ items: FileItem[] }>(fixture.service, 'FILE_LIST', {})).items;
  }
});
