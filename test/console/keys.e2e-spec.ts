import { afterAll, beforeAll, expect, it } from '@jest/globals';
import supertest from 'supertest';
import type { ApiKeyItem } from '../../src/identity/api-keys/api-key.dto.js';
import { createAgent, ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const CHATBOT = [
  'COLLECTION_THREADS_CREATE',
  'COLLECTION_THREADS_GET',
  'COLLECTION_THREADS_LIST',
  'COLLECTION_THREAD_MESSAGES_LIST',
];

inBrowser('The view of keys', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start(newTenant);
  });
  afterAll(() => fixture.close());

  it('hands out a key with exactly the chatbot preset, which drives an agent over HTTP', async () => {
    const opened = await fixture.open('keys');
    const { page } = opened;
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('shop chatbot');
    await dialog.getByText('start threads', { exact: true }).waitFor();
    await opened.expectAccessible();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const value = (await dialog.getByLabel('Value of the key').textContent())?.trim() ?? '';
    await opened.expectAccessible();

    const { service } = fixture;
    const stored = await service.tool('API_KEY_LIST', {
      where: { field: ['name'], operator: 'eq', value: 'shop chatbot' },
    });
    const [item] = stored.body.items as { permissions: Record<string, string[]>; expires_at: string | null }[];
    expect(item?.expires_at).not.toBeNull();
    expect(Object.keys(item?.permissions ?? {})).toEqual(['self']);
    expect(item?.permissions['self']?.toSorted()).toEqual(CHATBOT.toSorted());

    const app = { ...service, apiKey: value, tool: (name: string, body?: object) => service.tool(name, body, value) };
    const thread = await ThreadClient.create(app, await createAgent(service));
    const run = await thread.ask('Hello');
    expect(JSON.stringify(await thread.answer(run.taskId))).toContain('You said: Hello');
    const refused = await service.tool('API_KEY_LIST', {}, value);
    expect(refused.status).toBe(403);

    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'shop chatbot' }).waitFor();
    await opened.close();
  });

  it('grants single abilities, and offers every permission that there is', async () => {
    const opened = await fixture.open('keys?create=1');
    const dialog = opened.page.getByRole('dialog');
    await dialog.getByRole('radio', { name: 'Something else' }).check();
    await dialog.getByText('This key holds no permission.').waitFor();
    await dialog.getByText('Runs', { exact: true }).click();
    await dialog.getByRole('checkbox', { name: 'Cancel runs' }).check();
    await dialog.getByText('cancel runs', { exact: true }).waitFor();

    const listed = await supertest(fixture.service.url)
      .get(`/api/${fixture.service.org}/tools`)
      .set('authorization', `Bearer ${fixture.service.apiKey}`);
    const text = (await dialog.textContent()) ?? '';
    const names = (listed.body.items as { name: string }[]).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(50);
    expect(names.filter((name) => !text.includes(name))).toEqual([]);
    await opened.close();
  });

  it('shows that the service refuses to grant more than the caller holds', async () => {
    await fixture.service.tool('ROLE_CREATE', {
      name: 'key maker',
      permissions: { self: ['API_KEY_CREATE', 'API_KEY_LIST'] },
    });
    const opened = await fixture.open('keys?create=1', { role: 'key maker' });
    const dialog = opened.page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('too much');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByRole('alert').getByText('cannot grant permissions that it does not hold').waitFor();
    await opened.close();
  });

  it('edits, rotates and deletes a key', async () => {
    await fixture.service.tool('API_KEY_CREATE', { name: 'old key', permissions: { self: ['RUN_LIST'] } });
    const opened = await fixture.open('keys?name=old');
    const { page } = opened;
    await page.getByRole('button', { name: 'old key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Edit key' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('old renamed');
    await dialog.getByRole('button', { name: 'Save key' }).click();
    await dialog.getByRole('button', { name: 'Rotate key' }).click();
    await dialog.getByLabel('The old key').selectOption({ label: 'Delete it at once' });
    await dialog.getByRole('button', { name: 'Create new key' }).click();
    await dialog.getByText('The old key was deleted.').waitFor();
    const value = (await dialog.getByLabel('Value of the key').textContent())?.trim() ?? '';
    expect((await fixture.service.tool('RUN_LIST', {}, value)).status).toBe(200);
    await dialog.getByRole('button', { name: 'Done' }).click();

    await page.getByRole('button', { name: 'old renamed' }).click();
    await dialog.getByRole('button', { name: 'Rotate key' }).click();
    await dialog.getByLabel('The old key').selectOption({ label: 'It expires in a day' });
    await dialog.getByRole('button', { name: 'Create new key' }).click();
    await dialog.getByText(/The old key \(sbx_\S+…\) expires/).waitFor();
    const next = (await dialog.getByLabel('Value of the key').textContent())?.trim() ?? '';
    await dialog.getByRole('button', { name: 'Done' }).click();
    const { items } = (await fixture.service.tool('API_KEY_LIST')).body as { items: ApiKeyItem[] };
    const [old, young] = items.filter(({ name }) => name === 'old renamed');
    const day = 86_400_000;
    expect(Math.abs(Date.parse(old?.expires_at ?? '') - Date.now() - day)).toBeLessThan(day / 24);
    expect(next.startsWith(young?.prefix ?? 'none')).toBe(true);
    await fixture.service.tool('API_KEY_DELETE', { id: young?.id }).expect(200);
    await page.reload();

    await page.getByRole('button', { name: 'old renamed' }).click();
    await dialog.getByRole('button', { name: 'Delete key' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete key' }).click();
    await page.getByText('No key matches.').waitFor();
    expect((await fixture.service.tool('RUN_LIST', {}, value)).status).toBe(401);
    await opened.close();
  });

  it('shows the value of a new key, though somebody closes the dialog before the service has made it', async () => {
    const { opened, rotate } = await rotation('impatient key');
    const { page } = opened;
    const made = Promise.withResolvers<void>();
    await page.route('**/API_KEY_CREATE', (route) => made.promise.then(() => route.continue()));
    await rotate();
    await page.locator('button[aria-busy="true"]').waitFor();
    await page.keyboard.press('Escape');
    made.resolve();
    const value = (await page.getByLabel('Value of the key').textContent())?.trim() ?? '';
    await page.getByText('The old key was deleted.').waitFor();
    expect((await fixture.service.tool('RUN_LIST', {}, value)).status).toBe(200);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await opened.close();
  });

  it('shows the value of a new key, though the list of keys cannot be read again', async () => {
    const { opened, rotate } = await rotation('unlisted key');
    const { page } = opened;
    await page.route('**/API_KEY_LIST', (route) => route.fulfill({ status: 400, body: '{}' }));
    const refused = page.waitForResponse('**/API_KEY_LIST');
    await rotate();
    await refused;
    await page.getByText('The old key was deleted.').waitFor();
    const value = (await page.getByLabel('Value of the key').textContent())?.trim() ?? '';
    expect((await fixture.service.tool('RUN_LIST', {}, value)).status).toBe(200);
    await opened.close();
  });

  it('leaves what somebody else changes in a key while its form is open', async () => {
    const permissions = { self: ['RUN_LIST', 'RUN_CANCEL'] };
    const created = await fixture.service.tool('API_KEY_CREATE', { name: 'shared key', permissions });
    const { id } = created.body as { id: string };
    const opened = await fixture.open(`keys?key=${id}&mode=edit`);
    const dialog = opened.page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('renamed key');
    const fewer = { self: ['RUN_LIST'] };
    await fixture.service.tool('API_KEY_UPDATE', { id, permissions: fewer }).expect(200);
    await dialog.getByRole('button', { name: 'Save key' }).click();
    await dialog.getByRole('button', { name: 'Edit key' }).waitFor();
    const where = { field: ['id'], operator: 'eq', value: id };
    const { body } = await fixture.service.tool('API_KEY_LIST', { where });
    expect(body.items).toMatchObject([{ name: 'renamed key', permissions: fewer }]);
    await opened.close();
  });

  /** Opens the form that replaces a key; `rotate` sends it, with the old key to be deleted. */
  async function rotation(name: string): Promise<{ opened: ConsolePage; rotate: () => Promise<void> }> {
    const created = await fixture.service.tool('API_KEY_CREATE', { name, permissions: { self: ['RUN_LIST'] } });
    const opened = await fixture.open(`keys?key=${(created.body as { id: string }).id}&mode=rotate`);
    const dialog = opened.page.getByRole('dialog');
    await dialog.getByLabel('The old key').selectOption({ label: 'Delete it at once' });
    return { opened, rotate: () => dialog.getByRole('button', { name: 'Create new key' }).click() };
  }

  it('is accessible in both themes and fits a narrow screen', async () => {
    const opened = await fixture.open('keys');
    await opened.page.getByRole('region', { name: 'Keys' }).waitFor();
    await opened.expectAccessibleInBothThemes();
    await opened.expectToFit(360);
    await opened.close();
  });

  it('says what is missing to somebody without permissions, and to somebody whom the service fails', async () => {
    const member = await fixture.open('keys', { role: 'member' });
    await member.page.getByText('You do not have access to this.').waitFor();
    expect(await member.page.getByRole('button', { name: 'Create key' }).count()).toBe(0);
    await member.expectAccessible();
    await member.close();

    const opened = await fixture.open('overview');
    // A stream of changes that opens late makes a page read again.
    await opened.page.route('**/events', (route) => route.abort());
    await opened.page.route('**/tools/API_KEY_LIST', (route) => route.fulfill({ status: 400, body: '{}' }));
    await opened.page.goto(fixture.address('keys'));
    await opened.page.getByText('This could not be loaded.').waitFor();
    await opened.page.unroute('**/tools/API_KEY_LIST');
    await opened.page.getByRole('button', { name: 'Try again' }).click();
    await opened.page.getByRole('region', { name: 'Keys' }).waitFor();
    await opened.close();
  });
});
