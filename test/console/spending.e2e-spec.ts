import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { type FakeOpenAI, startFakeOpenAI } from '../support/fake-openai.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture } from './console-fixture.js';

inBrowser('Spending limits', () => {
  let fixture: ConsoleFixture;
  let model: FakeOpenAI;
  let agentId: string;

  beforeAll(async () => {
    [fixture, model] = await Promise.all([ConsoleFixture.start(newTenant), startFakeOpenAI()]);
    const { service } = fixture;
    const provider = { title: 'Fake', kind: 'openai-compatible', base_url: model.baseUrl };
    const { item } = await succeed<{ item: { id: string } }>(service, 'AI_PROVIDER_CREATE', { data: provider });
    const price = { input: 100, output: 10_000 };
    const fallbacks = [{ provider_id: item.id, model: 'free' }];
    const fast = { provider_id: item.id, model: 'large', max_output_tokens: 100, fallbacks };
    const smart = { provider_id: item.id, model: 'large', price, max_output_tokens: 100 };
    await succeed(service, 'MODEL_TIERS_SET', { data: { fast, smart } });
    agentId = await createAgent(service, [], { title: 'Signaller' });
  });
  afterAll(async () => {
    await fixture.close();
    await model.close();
  });

  it('are set for the organization, an agent, a key and a member', async () => {
    const opened = await fixture.open('settings/limits');
    const { page } = opened;
    await page.getByLabel('US dollars per day').fill('50');
    await page.getByRole('button', { name: 'Save spending limit' }).click();
    await page.getByText('fast.fallbacks[0]: The model has no price').waitFor();
    await opened.expectAccessible();
    const { body } = await fixture.service.tool('ORGANIZATION_GET');
    expect(body.item.limits).toEqual({ spend: { usd_per_day: 50 } });

    await page.goto(fixture.address(`agents/${agentId}?tab=settings`));
    await page.getByLabel('US dollars per month').fill('12.5');
    await page.getByRole('button', { name: 'Save agent' }).click();
    await page.getByText('The agent was saved.').waitFor();
    const agent = await fixture.service.tool('COLLECTION_VIRTUAL_MCP_GET', { id: agentId });
    expect(agent.body.item.spend).toEqual({ usd_per_month: 12.5 });

    const { id } = await succeed<{ id: string }>(fixture.service, 'API_KEY_CREATE', { name: 'clerk', permissions: {} });
    await page.goto(fixture.address('keys'));
    await page.getByRole('button', { name: 'clerk' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Edit key' }).click();
    await dialog.getByLabel('US dollars per day').fill('0.5');
    await dialog.getByRole('button', { name: 'Save key' }).click();
    await dialog.getByText('$0.5 a day').waitFor();
    const { items } = await succeed<{ items: { id: string; spend: object }[] }>(fixture.service, 'API_KEY_LIST', {});
    expect(items.find((key) => key.id === id)?.spend).toEqual({ usd_per_day: 0.5 });

    await page.goto(fixture.address('settings/members'));
    await page.getByRole('button', { name: /^Spending limit of/ }).click();
    await dialog.getByLabel('US dollars per day').fill('3');
    await dialog.getByRole('button', { name: 'Save spending limit' }).click();
    await page.getByText('$3 a day').waitFor();
    await opened.close();
  });

  it('show on the overview what is used and left', async () => {
    const { service } = fixture;
    model.script({ kind: 'text', deltas: ['ok'], usage: { inputTokens: 1, outputTokens: 25 } });
    await (await ThreadClient.create(service, agentId)).ask('hello');
    const opened = await fixture.open('');
    const region = opened.page.getByRole('region', { name: 'Spending limits' });
    await region.getByRole('link', { name: 'Signaller' }).waitFor();
    const rows = await region.getByRole('row').allInnerTexts();
    const cells = rows.map((row) => row.split(/\s*\t\s*/));
    const { name } = (await service.tool('ORGANIZATION_GET')).body.item;
    const sums = ['$50.00', '$0.2501', '$49.7499'];
    expect(cells).toContainEqual(expect.arrayContaining([`organization ${name}`, 'day', ...sums]));
    expect(cells).toContainEqual(expect.arrayContaining(['agent Signaller', 'month', '$12.50', '$0.2501', '$12.2499']));
    expect(cells).toContainEqual(expect.arrayContaining(['person Ada Lovelace', 'day', '$3.00', '$0.00', '$3.00']));
    const meter = region.getByRole('meter', { name: 'Used and reserved of the limit per month of Signaller' });
    expect(await meter.getAttribute('aria-valuenow')).toBe('2');
    await opened.expectAccessible();
    await region.getByRole('link', { name: 'Signaller' }).click();
    await opened.page.getByRole('heading', { level: 1, name: 'Signaller' }).waitFor();
    await opened.close();
  });

  it('are named in the playground when they are reached', async () => {
    const { service } = fixture;
    await succeed(service, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id: agentId, data: { spend: { usd_per_month: 1 } } });
    const thread = await ThreadClient.create(service, agentId);
    const opened = await fixture.open(`playground/${thread.id}`);
    const message = opened.page.getByLabel('Message', { exact: true });
    await message.fill('hello');
    await opened.page.getByRole('button', { name: 'Send' }).click();
    await opened.page.getByRole('alert').getByText('spending limit').waitFor();
    expect(await message.inputValue()).toBe('hello');
    await opened.close();
  });
});
