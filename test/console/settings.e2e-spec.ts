import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { listenOnLoopback } from '../../src/boot/testing/loopback-server.js';
import { createAgent, ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';
import { BEDROCK_FIELDS } from '../support/model-apis/bedrock-api.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture } from './console-fixture.js';

const SECTIONS = ['models', 'members', 'roles', 'organization', 'limits', 'files', 'webhooks', 'schedules', 'oauth'];

inBrowser('Settings', () => {
  let fixture: ConsoleFixture;
  let receiver: WebhookReceiver;
  let agent: string;

  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
    fixture = await ConsoleFixture.start(newTenant);
    agent = await createAgent(fixture.service, [], { title: 'Reporter' });
  });
  afterAll(async () => {
    await fixture.close();
    await receiver.close();
  });

  it('creates a webhook, shows its secret once, and lists what it delivered', async () => {
    const opened = await fixture.open('settings/webhooks');
    const { page } = opened;
    await page.getByText('There are no webhooks yet.').waitFor();
    await page.getByRole('button', { name: 'Create webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Address').fill(receiver.url);
    await opened.expectAccessible();
    await dialog.getByRole('button', { name: 'Create webhook' }).click();
    expect(await page.getByLabel('Secret', { exact: true }).textContent()).toMatch(/^whsec_/);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: `Test ${receiver.url}` }).click();
    await page.getByText('It answered 204').waitFor();

    const thread = await ThreadClient.create(fixture.service, agent);
    const taskId = await thread.postMessage('Hello');
    await receiver.messagesOf(taskId);
    await page.getByRole('region', { name: 'Deliveries' }).last().getByText('delivered').waitFor();
    await page.getByRole('button', { name: 'Deliver again' }).click();
    await receiver.messagesOf(taskId, 2);
    await opened.expectAccessible();
    const run = await fixture.open(`runs/${taskId}`);
    await run.page.getByRole('region', { name: 'Webhooks of the run' }).getByText('delivered').first().waitFor();
    await run.expectAccessible();
    await run.expectToFit(360);
    await run.close();

    await page.getByRole('button', { name: 'Delete webhook' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click();
    expect((await fixture.service.tool('WEBHOOK_LIST')).body.items).toHaveLength(1);
    await page.getByRole('button', { name: 'Delete webhook' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete webhook' }).click();
    await page.getByText('There are no webhooks yet.').waitFor();
    await opened.close();
  });

  it('creates a schedule in words, runs it, and links its run', async () => {
    const opened = await fixture.open('settings/schedules');
    const { page } = opened;
    await page.getByRole('button', { name: 'Create schedule' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create schedule' });
    await dialog.getByLabel('Title').fill('Morning report');
    await dialog.getByRole('button', { name: /^Agent/ }).click();
    await page.getByRole('dialog', { name: 'Agent' }).getByText('Reporter').click();
    await dialog.getByLabel('Message').fill('Report, please');
    await dialog.getByText('Every Monday to Friday at 09:00. The next times:').waitFor();
    await opened.expectAccessible();
    await dialog.getByRole('button', { name: 'Create schedule' }).click();
    await page.getByRole('button', { name: 'Run now: Morning report' }).click();
    await page.getByRole('region', { name: 'Schedules' }).last().getByText('completed').waitFor();
    await page.getByRole('checkbox', { name: 'Enabled Morning report' }).click();
    await page.getByRole('checkbox', { name: 'Enabled Morning report', checked: false }).waitFor();
    await page.getByText('disabled', { exact: true }).waitFor();
    const { body } = await fixture.service.tool('SCHEDULE_LIST');
    expect(body.items).toMatchObject([{ title: 'Morning report', cron: '0 9 * * 1-5', enabled: false }]);
    await opened.close();
  });

  it('invites a member into a new role', async () => {
    const opened = await fixture.open('settings/roles');
    const { page } = opened;
    await page.getByRole('button', { name: 'Create role' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('operator');
    await dialog.getByText('Monitoring', { exact: true }).click();
    await dialog.getByRole('checkbox', { name: 'Read audit events' }).check();
    await dialog.getByRole('button', { name: 'Create role' }).click();
    await page.getByText('The role was created.').waitFor();
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Members' }).click();
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByText('They can sign in, but the console shows them nothing.').waitFor();
    await dialog.getByLabel('E-mail address').fill('grace@example.test');
    await dialog.getByLabel('Role').selectOption('operator');
    await dialog.getByRole('button', { name: 'Invite member' }).click();
    expect(await page.getByLabel('Invitation link').textContent()).toContain(fixture.service.url);
    await page.keyboard.press('Escape');
    await page.getByText('invited', { exact: true }).waitFor();
    await opened.close();
  });

  it('stores a provider and a tier, limits and who can run agents', async () => {
    const opened = await fixture.open('settings/models');
    const { page } = opened;
    await page.getByRole('button', { name: 'Add provider' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Local');
    await dialog.getByLabel('Kind').selectOption('openai-compatible');
    await dialog.getByLabel('Address').fill('http://127.0.0.1:9/v1');
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    const tier = page.getByRole('form', { name: 'Tier Fast' });
    await tier.getByLabel('Provider').selectOption('Local');
    await tier.getByLabel('Model').fill('tiny');
    await tier.getByRole('button', { name: 'Test' }).click();
    await tier.getByText(/It failed after/).waitFor();
    await tier.getByLabel('Input price', { exact: true }).fill('0.15');
    await tier.getByLabel('Output price').fill('0.6');
    await opened.expectAccessible();
    await tier.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The tier “Fast” was saved.').waitFor();
    const tiers = await fixture.service.tool('MODEL_TIERS_GET');
    expect(tiers.body.item.fast).toMatchObject({ model: 'tiny', price: { input: 0.15, output: 0.6 } });

    await page.getByRole('link', { name: 'Limits and retention' }).click();
    await page.getByLabel('Runs per minute').fill('500');
    await page.getByRole('button', { name: 'Save limits' }).click();
    await page.getByText('Limits saved.').waitFor();
    await page.getByRole('link', { name: 'Organization', exact: true }).click();
    await page.getByRole('radio', { name: 'Only who was granted the agent' }).check();
    await page.getByRole('button', { name: 'Save who can run agents' }).click();
    await page.getByText('Saved. It counts within a second.').waitFor();
    const { body } = await fixture.service.tool('ORGANIZATION_GET');
    expect(body.item).toMatchObject({ limits: { runs_per_minute: 500 }, run_access: 'granted' });
    await opened.close();
  });

  it('offers the models that a provider lists', async () => {
    const server = createServer((_request, response) => response.end('{"data":[{"id":"tiny-1"},{"id":"grand-2"}]}'));
    const { origin, close } = await listenOnLoopback(server);
    const data = { title: 'Workshop', kind: 'openai-compatible', base_url: `${origin}/v1` };
    await fixture.service.tool('AI_PROVIDER_CREATE', { data }).expect(200);
    const opened = await fixture.open('settings/models');
    const tier = opened.page.getByRole('form', { name: 'Tier Thinking' });
    await tier.getByLabel('Provider').selectOption('Workshop');
    await tier.getByLabel('Model').focus();
    await tier.locator('option[value="tiny-1"]').waitFor({ state: 'attached' });
    const names = tier.locator('datalist option').evaluateAll((all) => all.map((each) => each.getAttribute('value')));
    expect(await names).toEqual(['grand-2', 'tiny-1']);
    await opened.close();
    await close();
  });

  it('stores a provider with the fields of its kind, changes its kind, and never shows a secret', async () => {
    const opened = await fixture.open('settings/models');
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add provider' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('Cloud');
    await dialog.getByLabel('Kind').selectOption('azure');
    expect(await dialog.getByLabel('API version').count()).toBe(1);
    await dialog.getByLabel('Kind').selectOption('bedrock');
    expect(await dialog.getByLabel('API key').count()).toBe(0);
    await dialog.getByLabel('Region').fill('Frankfurt');
    await dialog.getByLabel('Access key ID').fill(BEDROCK_FIELDS.access_key_id);
    await dialog.getByLabel('Secret access key').fill(BEDROCK_FIELDS.secret_access_key);
    await opened.expectAccessible();
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    await dialog.getByText('must be the name of a region').first().waitFor();
    await dialog.getByLabel('Region').fill('eu-central-1');
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    const row = page.getByRole('row', { name: 'Cloud' });
    await row.getByText('Amazon Bedrock').waitFor();
    await row.getByText('eu-central-1').waitFor();

    await row.getByRole('button', { name: 'Edit Cloud' }).click();
    expect(await dialog.getByLabel('Region').inputValue()).toBe('eu-central-1');
    expect(await dialog.getByLabel('Secret access key').inputValue()).toBe('');
    await dialog.getByLabel('Session token').fill(BEDROCK_FIELDS.session_token);
    await dialog.getByRole('button', { name: 'Save provider' }).click();
    await page.getByText('The provider was changed.').waitFor();
    expect(await stored()).toMatchObject({ kind: 'bedrock', region: 'eu-central-1', session_token: '***' });

    await row.getByRole('button', { name: 'Edit Cloud' }).click();
    await dialog.getByLabel('Kind').selectOption('mistral');
    await dialog.getByLabel('API key').fill('mistral-key');
    await dialog.getByRole('button', { name: 'Save provider' }).click();
    await row.getByText('Mistral AI').waitFor();
    const none = { region: null, access_key_id: null, secret_access_key: null, session_token: null };
    expect(await stored()).toMatchObject({ kind: 'mistral', api_key: '***', ...none });
    await opened.close();

    async function stored(): Promise<unknown> {
      const { body } = await fixture.service.tool('AI_PROVIDER_LIST');
      return body.items.find(({ title }: { title: string }) => title === 'Cloud');
    }
  });

  it.each(SECTIONS)('%s is accessible in both themes, and fits a narrow screen', async (section) => {
    const opened = await fixture.open(`settings/${section}`);
    await opened.page.getByRole('heading', { level: 2 }).first().waitFor();
    await opened.settled();
    await opened.expectAccessibleInBothThemes();
    await opened.expectToFit(360);
    await opened.close();
  });

  it('keeps a dialog open until its request is answered', async () => {
    const opened = await fixture.open('settings/roles');
    const { page } = opened;
    const refuse = await refuseLater(page, 'ROLE_CREATE');
    await page.getByRole('button', { name: 'Create role' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('dispatcher');
    await dialog.getByRole('button', { name: 'Create role' }).click();
    await dialog.locator('button[aria-busy="true"]').waitFor();
    await page.keyboard.press('Escape');
    expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    refuse();
    await dialog.getByRole('alert').getByText('Not today.').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await opened.close();
  });

  it('leaves what somebody else changes in a schedule and in a webhook while their dialogs are open', async () => {
    const schedule = { title: 'Noon report', virtual_mcp_id: agent, cron: '0 12 * * *', message: 'Report' };
    const webhook = { url: 'https://example.com/hooks', events: ['run.failed'] };
    const { service } = fixture;
    const { id } = (await service.tool('SCHEDULE_CREATE', { data: schedule }).expect(200)).body.item;
    const hook = (await service.tool('WEBHOOK_CREATE', { data: webhook }).expect(200)).body.item;
    const opened = await fixture.open(`settings/schedules?edit=${id}`);
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill('Lunch report');
    await service.tool('SCHEDULE_UPDATE', { id, data: { message: 'Report on lunch' } }).expect(200);
    await dialog.getByRole('button', { name: 'Save schedule' }).click();
    await dialog.waitFor({ state: 'detached' });
    const stored = async () => {
      const { items } = (await service.tool('SCHEDULE_LIST')).body as { items: { id: string }[] };
      return items.find((item) => item.id === id);
    };
    expect(await stored()).toMatchObject({ title: 'Lunch report', message: 'Report on lunch' });

    // Whoever changes more than the title has it run in their own name, so it says what they have seen.
    await page.goto(fixture.address(`settings/schedules?edit=${id}`));
    await dialog.getByLabel('Cron expression').fill('30 12 * * *');
    await service.tool('SCHEDULE_UPDATE', { id, data: { message: 'Delete everything' } }).expect(200);
    await dialog.getByRole('button', { name: 'Save schedule' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await stored()).toMatchObject({ cron: '30 12 * * *', message: 'Report on lunch' });

    await page.goto(fixture.address(`settings/webhooks?edit=${hook.id}`));
    await dialog.getByLabel('Address').fill('https://example.com/other');
    await service.tool('WEBHOOK_UPDATE', { id: hook.id, data: { enabled: false } }).expect(200);
    await dialog.getByRole('button', { name: 'Save webhook' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { items: webhooks } = (await service.tool('WEBHOOK_LIST')).body;
    expect(webhooks).toContainEqual(
      expect.objectContaining({ id: hook.id, url: 'https://example.com/other', enabled: false }),
    );
    await opened.close();
  });

  it('says what became of a change whose form was left', async () => {
    const data = { title: 'Evening report', virtual_mcp_id: agent, cron: '0 18 * * *', message: 'Report' };
    await fixture.service.tool('SCHEDULE_CREATE', { data }).expect(200);
    const opened = await fixture.open('settings/schedules');
    const { page } = opened;
    const sections = page.getByRole('navigation', { name: 'Settings' });
    const answered = Promise.withResolvers<void>();
    await page.route('**/SCHEDULE_RUN', (route) => answered.promise.then(() => route.continue()));
    await page.getByRole('button', { name: 'Run now: Evening report' }).click();
    await sections.getByRole('link', { name: 'Organization' }).click();
    const name = page.getByLabel('Name', { exact: true });
    await name.waitFor();
    answered.resolve();
    await page.getByText('“Evening report” runs now.').waitFor();

    const refuse = await refuseLater(page, 'ORGANIZATION_UPDATE');
    await name.fill('Another name');
    await page.getByRole('button', { name: 'Save name' }).click();
    await sections.getByRole('link', { name: 'Roles' }).click();
    await page.getByRole('button', { name: 'Create role' }).waitFor();
    refuse();
    await page.getByRole('status').getByText('Not today.').waitFor();
    await opened.close();
  });

  /** Holds the calls of a tool back; the function that it returns has them refused. */
  async function refuseLater(page: Page, tool: string): Promise<() => void> {
    const answered = Promise.withResolvers<void>();
    await page.route(`**/${tool}`, async (route) => {
      await answered.promise;
      const body = JSON.stringify({ status: 400, code: 'bad_request', detail: 'Not today.' });
      await route.fulfill({ status: 400, contentType: 'application/problem+json', body });
    });
    return answered.resolve;
  }

  it('says what is missing to somebody without permissions', async () => {
    const opened = await fixture.open('settings', { role: 'member' });
    const { page } = opened;
    const links = page.getByRole('navigation', { name: 'Settings' }).getByRole('link');
    await links.first().waitFor();
    for (const link of await links.all()) {
      await link.click();
      await page.getByText('You do not have access to this.').waitFor();
      expect(await page.locator('main').getByRole('button').count()).toBe(0);
    }
    await opened.expectAccessible();
    await opened.close();
  });
});
