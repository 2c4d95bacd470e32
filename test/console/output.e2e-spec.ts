import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const SCHEMA = { type: 'object', properties: { part: { type: 'string' } }, required: ['part'] };

inBrowser('answers in a shape in the console', () => {
  let fixture: ConsoleFixture;
  let opened: ConsolePage;
  beforeAll(async () => {
    fixture = await ConsoleFixture.start(newTenant);
  }, 120_000);
  afterEach(() => opened.close());
  afterAll(() => fixture?.close());

  it('sets the schema of an agent, and says what is wrong with one', async () => {
    opened = await fixture.open('agents/new');
    const { page } = opened;
    await page.getByRole('textbox', { name: 'Title' }).fill('Parts');
    const schema = page.getByRole('textbox', { name: 'Output schema (optional)' });
    await schema.fill('{"type":');
    await page.getByRole('button', { name: 'Create agent' }).click();
    await page.getByText('This is not JSON').waitFor();
    await schema.fill('{"type":"array"}');
    await page.getByText('A schema is an object whose type is').waitFor();
    await schema.fill('{"type":"object","properties":{"a":{"type":"strin"}}}');
    await page.getByRole('button', { name: 'Create agent' }).click();
    await page.getByText('The schema cannot be used').first().waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await schema.fill(JSON.stringify(SCHEMA));
    await page.getByRole('checkbox', { name: 'Send the output to webhooks' }).check();
    await page.getByRole('button', { name: 'Create agent' }).click();
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByRole('region', { name: 'Output schema' }).getByText('"part"').first().waitFor();
    await opened.expectAccessible();

    await page.getByRole('tab', { name: 'Build' }).click();
    expect(JSON.parse(await schema.inputValue())).toEqual(SCHEMA);
    await schema.fill('');
    await page.getByRole('button', { name: 'Save agent' }).click();
    await page.getByText('The agent was saved.').waitFor();
    const { items } = await succeed<{ items: object[] }>(fixture.service, 'COLLECTION_VIRTUAL_MCP_LIST', {});
    expect(items).toMatchObject([{ title: 'Parts', output_schema: null, webhook_output: true }]);
  }, 120_000);

  it('shows the output of a run in the run and in the chat', async () => {
    const agentId = await createAgent(fixture.service, [], { output_schema: SCHEMA });
    const thread = await ThreadClient.create(fixture.service, agentId);
    const { taskId } = await thread.ask('/json {"part":"axle"}');
    opened = await fixture.open(`runs/${taskId}`);
    const output = opened.page.getByRole('region', { name: 'Output' });
    await output.waitFor();
    expect(JSON.parse((await output.textContent()) ?? '')).toEqual({ part: 'axle' });
    await opened.expectAccessible();

    const { page } = opened;
    await page.goto(fixture.address(`playground/${thread.id}`));
    await output.waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('/json {"part":"wheel"}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('region', { name: 'Output' }).filter({ hasText: '"wheel"' }).waitFor();
    await opened.expectAccessible();
  }, 120_000);
});
