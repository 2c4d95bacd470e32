import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { eventually } from '../support/eventually.js';
import { type FakeOpenAI, startFakeOpenAI } from '../support/fake-openai.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

interface Provider {
  readonly id: string;
  readonly title: string;
}

inBrowser('Fallbacks of tiers', () => {
  let fixture: ConsoleFixture;
  let models: FakeOpenAI[];
  let main: Provider;
  let spare: Provider;
  let opened: ConsolePage;

  beforeAll(async () => {
    const [started, ...fakes] = await Promise.all([
      ConsoleFixture.start(newTenant),
      startFakeOpenAI(),
      startFakeOpenAI(),
    ]);
    [fixture, models] = [started, fakes];
    const [first, second] = fakes;
    main = await createProvider('Main', first.baseUrl);
    spare = await createProvider('Spare', second.baseUrl);
  });
  afterEach(() => opened.close());
  afterAll(async () => {
    await fixture.close();
    await Promise.all(models.map((model) => model.close()));
  });

  async function createProvider(title: string, baseUrl: string): Promise<Provider> {
    const data = { title, kind: 'openai-compatible', base_url: baseUrl };
    return (await succeed<{ item: Provider }>(fixture.service, 'AI_PROVIDER_CREATE', { data })).item;
  }

  async function setFast(target: object): Promise<void> {
    await succeed(fixture.service, 'MODEL_TIERS_SET', { data: { fast: target } });
  }

  async function storedFast(): Promise<object | null> {
    const { item } = await succeed<{ item: { fast: object | null } }>(fixture.service, 'MODEL_TIERS_GET', {});
    return item.fast;
  }

  /** Opens the settings. @returns the form of the tier “fast” */
  async function openFast(): Promise<Locator> {
    opened = await fixture.open('settings/models');
    const tier = opened.page.getByRole('form', { name: 'Tier Fast' });
    await tier.waitFor();
    return tier;
  }

  async function save(tier: Locator): Promise<void> {
    await tier.getByRole('button', { name: 'Save' }).click();
    await opened.page.getByText('The tier “Fast” was saved.').waitFor();
  }

  async function expectFocus(button: Locator): Promise<void> {
    expect(await button.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
  }

  const modelField = (tier: Locator, name: string): Locator =>
    tier.getByRole('group', { name, exact: true }).getByLabel('Model', { exact: true });

  it('adds two, tries them, moves them with the keyboard, stores them, and shows them again', async () => {
    const tier = await openFast();
    await tier.getByLabel('Provider').selectOption('Main');
    await tier.getByLabel('Model').fill('large');
    const add = tier.getByRole('button', { name: 'Add fallback' });
    await add.press('Enter');
    const first = tier.getByRole('group', { name: 'Fallback 1', exact: true });
    await expectFocus(first.getByLabel('Provider'));
    await first.getByLabel('Model', { exact: true }).fill('medium');
    await first.getByLabel('Output price').fill('2');
    await first.getByLabel('Input price', { exact: true }).fill('1');
    await add.press('Enter');
    const second = tier.getByRole('group', { name: 'Fallback 2', exact: true });
    await second.getByLabel('Provider').selectOption('Spare');
    await second.getByLabel('Model', { exact: true }).fill('small');
    await second.getByRole('button', { name: 'Test' }).click();
    await second.getByText('It answered after').waitFor();
    await second.getByText('Limits', { exact: true }).click();
    await second.getByLabel('Tokens of an answer').fill('4000');
    await second.getByLabel('Seconds until an answer begins').fill('601');
    await second.getByText('Limits', { exact: true }).click();
    await tier.getByRole('button', { name: 'Save' }).click();
    // The browser opens what is wrong.
    await expectFocus(second.getByLabel('Seconds until an answer begins'));
    await second.getByLabel('Seconds until an answer begins').fill('20');
    await opened.expectAccessible();
    await opened.expectToFit(360);

    await second.getByRole('button', { name: 'Move fallback 2 up' }).press('Enter');
    await first.getByText('It answered after').waitFor();
    await expectFocus(first.getByRole('button', { name: 'Move fallback 1 up' }));
    await tier.getByText('Moved to “Fallback 1”.').waitFor();
    await first.getByRole('button', { name: 'Move fallback 1 down' }).press('Enter');
    await expectFocus(second.getByRole('button', { name: 'Move fallback 2 down' }));
    // It is the last one.
    await second.getByRole('button', { name: 'Move fallback 2 down' }).press('Enter');
    await second.getByRole('button', { name: 'Move fallback 2 up' }).press('Enter');
    await first.getByRole('button', { name: 'Move fallback 1 up' }).press('Enter');
    await save(tier);
    expect(await storedFast()).toEqual({
      provider_id: spare.id,
      model: 'small',
      max_output_tokens: 4000,
      first_chunk_timeout_s: 20,
      fallbacks: [
        { provider_id: main.id, model: 'large' },
        { provider_id: main.id, model: 'medium', price: { input: 1, output: 2 } },
      ],
    });

    await opened.page.reload();
    await modelField(tier, 'First model').waitFor();
    const shown = ['First model', 'Fallback 1', 'Fallback 2'].map((name) => modelField(tier, name).inputValue());
    expect(await Promise.all(shown)).toEqual(['small', 'large', 'medium']);
    const limits = tier.getByRole('group', { name: 'First model' }).getByLabel('Seconds until an answer begins');
    expect(await limits.inputValue()).toBe('20');
    expect(await tier.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await opened.expectAccessible();
  });

  it('keeps what another client has set, and removes a fallback', async () => {
    const limits = { max_output_tokens: 500, first_chunk_timeout_s: 5 };
    const price = { input: 3, output: 15, cached_input: 0.3 };
    const names = ['b', 'c', 'd', 'e'];
    const fallbacks = names.map((model) => ({ provider_id: spare.id, model, price, ...limits }));
    await setFast({ provider_id: main.id, model: 'a', price, ...limits, fallbacks });
    const tier = await openFast();
    await modelField(tier, 'First model').fill('f');
    expect(await tier.getByRole('button', { name: 'Add fallback' }).isDisabled()).toBe(true);
    await save(tier);
    const changed = { provider_id: main.id, model: 'f', price, ...limits };
    expect(await storedFast()).toEqual({ ...changed, fallbacks });

    await tier.getByRole('button', { name: 'Remove fallback 2' }).press('Enter');
    await expectFocus(tier.getByRole('button', { name: 'Add fallback' }));
    expect(await tier.getByRole('group', { name: /^Fallback/ }).count()).toBe(3);
    await tier.getByRole('button', { name: 'Save' }).click();
    const left = { ...changed, fallbacks: fallbacks.toSpliced(1, 1) };
    await eventually(async () => expect(await storedFast()).toEqual(left));
  });

  it('says why the same model cannot be called twice', async () => {
    const stored = { provider_id: main.id, model: 'a' };
    await setFast(stored);
    const tier = await openFast();
    await tier.getByRole('button', { name: 'Add fallback' }).click();
    await modelField(tier, 'Fallback 1').fill('a');
    await tier.getByRole('button', { name: 'Save' }).click();
    const words = 'data.fast.fallbacks[0] The tier names this model of this provider twice.';
    await tier.getByRole('alert').getByText(words).waitFor();
    expect(await storedFast()).toEqual(stored);
    await opened.expectAccessible();
  });

  it('shows the tries of a run that went on to its fallback', async () => {
    await setFast({ provider_id: main.id, model: 'large', fallbacks: [{ provider_id: spare.id, model: 'small' }] });
    models[0]?.script({ kind: 'status', status: 503 });
    const thread = await ThreadClient.create(fixture.service, await createAgent(fixture.service, []));
    const { body } = await thread.post(thread.request('Hello', { tier: 'fast' })).expect(202);
    await thread.waitFor(body.taskId, 'completed');

    opened = await fixture.open(`runs/${body.taskId}`);
    const timeline = opened.page.getByRole('list', { name: 'Timeline' });
    await timeline.getByText('Failed, went on to small at Spare · provider_unavailable').waitFor();
    const spans = await timeline.getByRole('listitem').allInnerTexts();
    expect(spans.map((text) => text.split('\n').slice(0, 2))).toEqual([
      ['Waiting for a worker', expect.anything()],
      ['Step 1', expect.anything()],
      ['Model, call 1', 'large at Main'],
      ['Model, call 2', 'small at Spare'],
    ]);
    expect(spans[3]).not.toMatch(/failed/i);
    await opened.expectAccessible();
    await opened.expectToFit(360);
  });
});
