import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

inBrowser('a form of something that somebody else changes meanwhile', () => {
  let fixture: ConsoleFixture;
  let opened: ConsolePage;

  beforeAll(async () => void (fixture = await ConsoleFixture.start(newTenant)));
  afterEach(() => opened?.close());
  afterAll(() => fixture.close());

  /** Opens the group of abilities and chooses one. */
  async function grant(dialog: Locator, group: string, ability: string): Promise<void> {
    await dialog.getByText(group, { exact: true }).click();
    await dialog.getByRole('checkbox', { name: ability }).check();
  }

  /** Submits the form and waits until its dialog is closed. */
  async function save(dialog: Locator, label: string): Promise<void> {
    await dialog.getByRole('button', { name: label }).click();
    await dialog.waitFor({ state: 'detached' });
  }

  it('keeps the permissions of a role that were withdrawn and granted meanwhile', async () => {
    const name = 'operator';
    const { service } = fixture;
    await succeed(service, 'ROLE_CREATE', { name, permissions: { self: ['ROLE_LIST', 'RUN_LIST'], gone: ['echo'] } });
    opened = await fixture.open(`settings/roles?edit=${name}`);
    const dialog = opened.page.getByRole('dialog');
    await grant(dialog, 'Monitoring', 'Read audit events');
    await succeed(service, 'ROLE_UPDATE', { name, permissions: { self: ['ROLE_LIST', 'API_KEY_LIST'] } });
    await save(dialog, 'Save role');
    const { items } = await succeed<{ items: object[] }>(service, 'ROLE_LIST', {});
    const permissions = { self: ['ROLE_LIST', 'API_KEY_LIST', 'AUDIT_EVENTS_LIST'] };
    expect(items).toContainEqual(expect.objectContaining({ name, permissions }));
  }, 120_000);

  it('keeps what every member can do since', async () => {
    const { service } = fixture;
    const update = (self: string[]) => succeed(service, 'ORGANIZATION_UPDATE', { member_permissions: { self } });
    await update(['RUN_LIST', 'AUDIT_EVENTS_LIST']);
    opened = await fixture.open('settings/organization');
    const { page } = opened;
    await page.getByRole('button', { name: 'Edit permissions' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Monitoring', { exact: true }).click();
    await dialog.getByRole('checkbox', { name: 'Read audit events' }).uncheck();
    await update(['AUDIT_EVENTS_LIST', 'API_KEY_LIST']);
    await save(dialog, 'Save permissions');
    const { item } = await succeed<{ item: object }>(service, 'ORGANIZATION_GET', {});
    expect(item).toMatchObject({ member_permissions: { self: ['API_KEY_LIST'] } });
  }, 120_000);

  it('withdraws a permission although somebody has granted all meanwhile', async () => {
    const { service } = fixture;
    const name = 'reader';
    await succeed(service, 'ROLE_CREATE', { name, permissions: { self: ['RUN_LIST', 'AUDIT_EVENTS_LIST'] } });
    opened = await fixture.open(`settings/roles?edit=${name}`);
    const dialog = opened.page.getByRole('dialog');
    await dialog.getByText('Monitoring', { exact: true }).click();
    await dialog.getByRole('checkbox', { name: 'Read audit events' }).uncheck();
    await succeed(service, 'ROLE_UPDATE', { name, permissions: { self: ['*'] } });
    await save(dialog, 'Save role');
    const { items } = await succeed<{ items: object[] }>(service, 'ROLE_LIST', {});
    expect(items).toContainEqual(expect.objectContaining({ name, permissions: { self: ['RUN_LIST'] } }));
  }, 120_000);

  it('keeps what a key can do since, and its limit', async () => {
    const { service } = fixture;
    const permissions = { self: ['RUN_LIST', 'ROLE_LIST'] };
    const { id } = await succeed<{ id: string }>(service, 'API_KEY_CREATE', { name: 'nightly', permissions });
    opened = await fixture.open(`keys?key=${id}&mode=edit`);
    const dialog = opened.page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('weekly');
    await grant(dialog, 'Monitoring', 'Read audit events');
    const since = { permissions: { self: ['RUN_LIST'] }, rate_limit: { per_minute: 7 } };
    await succeed(service, 'API_KEY_UPDATE', { id, ...since });
    await dialog.getByRole('button', { name: 'Save key' }).click();
    await dialog.getByRole('button', { name: 'Edit key' }).waitFor();
    const where = { field: ['id'], operator: 'eq', value: id };
    const { items } = await succeed<{ items: object[] }>(service, 'API_KEY_LIST', { where });
    const permitted = { self: ['RUN_LIST', 'AUDIT_EVENTS_LIST'] };
    expect(items).toMatchObject([{ name: 'weekly', permissions: permitted, rate_limit: { per_minute: 7 } }]);
  }, 120_000);

  it('keeps the address of a provider, but sends a new secret to the address that was shown', async () => {
    const { service } = fixture;
    const data = { title: 'Local', kind: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1', api_key: 'k-1' };
    const { item } = await succeed<{ item: { id: string } }>(service, 'AI_PROVIDER_CREATE', { data });
    const move = (port: number) =>
      succeed(service, 'AI_PROVIDER_UPDATE', {
        id: item.id,
        data: { base_url: `http://127.0.0.1:${port}/v1`, api_key: `k-${port}` },
      });
    const stored = async (): Promise<unknown> =>
      (await succeed<{ items: [object] }>(service, 'AI_PROVIDER_LIST', {})).items[0];
    opened = await fixture.open('settings/models');
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Edit Local' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('Workshop');
    await move(8);
    await save(dialog, 'Save provider');
    expect(await stored()).toMatchObject({ title: 'Workshop', base_url: 'http://127.0.0.1:8/v1' });

    await page.getByRole('button', { name: 'Edit Workshop' }).click();
    await dialog.getByLabel('API key').fill('k-2');
    await move(7);
    await save(dialog, 'Save provider');
    expect(await stored()).toMatchObject({ title: 'Workshop', base_url: 'http://127.0.0.1:8/v1' });
  }, 120_000);

  it('keeps the metadata of a thread that a program has written meanwhile', async () => {
    const { service } = fixture;
    const thread = await ThreadClient.create(service, await createAgent(service, []));
    const write = (metadata: object) =>
      succeed(service, 'COLLECTION_THREADS_UPDATE', { id: thread.id, data: { metadata } });
    await write({ customer: 'umbrella', queue: 'night', state: 'open' });
    opened = await fixture.open(`threads/${thread.id}`);
    const { page } = opened;
    await page.getByRole('button', { name: 'Edit metadata' }).click();
    const dialog = page.getByRole('dialog');
    const pair = (number: number): Locator => dialog.getByRole('group', { name: `Pair ${number}`, exact: true });
    // The service sorts them.
    expect(await pair(1).getByLabel('Value').inputValue()).toBe('night');
    expect(await pair(3).getByLabel('Value').inputValue()).toBe('umbrella');
    await pair(3).getByLabel('Value').fill('acme');
    await pair(4).getByLabel('Key').fill('owner');
    await pair(4).getByLabel('Value').fill('ada');
    await pair(1).getByRole('button', { name: 'Remove pair 1' }).click();
    await write({ customer: 'umbrella', queue: 'night', state: 'closed', order: '17' });
    await save(dialog, 'Save metadata');
    const { item } = await succeed<{ item: object }>(service, 'COLLECTION_THREADS_GET', { id: thread.id });
    expect(item).toMatchObject({ metadata: { customer: 'acme', state: 'closed', order: '17', owner: 'ada' } });
    expect(item).not.toHaveProperty('metadata.queue');
  }, 120_000);
});
