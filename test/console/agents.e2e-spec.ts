import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { eventually } from '../support/eventually.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

inBrowser('the agents in the console', () => {
  let fixture: ConsoleFixture;
  let upstream: EverythingServer;
  beforeAll(async () => {
    [fixture, upstream] = await Promise.all([ConsoleFixture.start(newTenant), startEverything()]);
    for (const title of ['First', 'Second']) {
      const data = { connection_type: 'HTTP', title, connection_url: upstream.url };
      const { body } = await fixture.service.tool('COLLECTION_CONNECTIONS_CREATE', { data }).expect(200);
      await fixture.service.tool('CONNECTION_TEST', { id: body.item.id }).expect(200);
    }
  }, 120_000);
  afterAll(async () => {
    await Promise.all([fixture?.close(), upstream?.close()]);
  });

  it('creates an agent with chosen tools and an approval rule', async () => {
    const opened = await fixture.open('agents');
    const { page } = opened;
    await page.getByText('There are no agents yet.').waitFor();
    await opened.expectAccessible();
    await page.getByRole('link', { name: 'Create the first agent' }).click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Support');
    await page.getByRole('textbox', { name: 'Name in programs (optional)' }).fill('help-desk');
    await page.getByRole('textbox', { name: 'Instructions (optional)' }).fill('Answer in one sentence.');
    await page.getByRole('button', { name: 'Add First' }).click();
    await page.getByText('13 at the moment').waitFor();
    await page.getByRole('combobox', { name: 'Tools of First' }).selectOption({ label: 'Only chosen tools' });
    await page.getByRole('button', { name: 'Choose none' }).click();
    await page.getByRole('checkbox', { name: 'Use echo' }).check();
    await page.getByRole('checkbox', { name: 'Use get-sum' }).check();
    await page
      .getByRole('combobox', { name: 'Approvals of First' })
      .selectOption({ label: 'Ask before calls of chosen tools' });
    await page.getByRole('checkbox', { name: 'Ask before get-sum' }).check();
    await opened.expectAccessible();
    await opened.expectToFit(360);

    // The second connection has the same tools, so both get prefixes.
    await page.getByRole('button', { name: 'Add Second' }).click();
    await page.getByText('get-sum → first_get-sum, second_get-sum').waitFor();
    await page.getByRole('button', { name: 'Remove Second' }).click();
    await page.getByRole('button', { name: 'Create agent' }).click();

    await page.getByRole('heading', { level: 1, name: 'Support' }).waitFor();
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByRole('row', { name: /First.*2 chosen.*asks before get-sum/ }).waitFor();
    const { body } = await fixture.service.tool('COLLECTION_VIRTUAL_MCP_LIST').expect(200);
    expect(body.items[0].connections).toMatchObject([
      { selected_tools: ['echo', 'get-sum'], approval: ['get-sum'], prefix: null },
    ]);
    expect(body.items[0]).toMatchObject({
      slug: 'help-desk',
      instructions: 'Answer in one sentence.',
      status: 'active',
    });
    await opened.expectAccessible();
    await opened.close();
  }, 120_000);

  it('gives a tool a name, a description and a fixed argument, and hides an argument of another', async () => {
    const opened = await fixture.open(`agents/${await idOf('Support')}?tab=settings`);
    const { page } = opened;
    const change = async (tool: string): Promise<void> => {
      await page.getByRole('combobox', { name: 'Tool of First to change' }).selectOption({ label: tool });
      await page.getByRole('button', { name: 'Change how it is offered' }).click();
    };
    await change('get-sum');
    await page.getByRole('textbox', { name: 'Name of get-sum (optional)' }).fill('add_two');
    await page.getByRole('textbox', { name: 'Description of get-sum (optional)' }).fill('Adds 2.');
    await page.getByRole('combobox', { name: 'Argument /a of get-sum' }).selectOption({ label: 'Fixed value' });
    const value = page.getByRole('textbox', { name: 'Value of /a of get-sum' });
    await page.getByRole('checkbox', { name: 'Use get-annotated-message' }).check();
    await change('get-annotated-message');
    const image = page.getByRole('combobox', { name: 'Argument /includeImage of get-annotated-message' });
    await image.selectOption({ label: 'Not shown' });
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await value.fill('two');
    await page.getByRole('button', { name: 'Save agent' }).click();
    await page.getByText('does not accept a fixed value: a must be number').first().waitFor();
    await value.fill('2');
    await page.getByRole('button', { name: 'Save agent' }).click();
    const dressed = {
      tool: 'get-sum',
      name: 'add_two',
      description: 'Adds 2.',
      arguments: { fixed: { '/a': 2 } },
    };
    const hiding = { tool: 'get-annotated-message', arguments: { hidden: ['/includeImage'] } };
    await eventually(async () => {
      const { body } = await fixture.service.tool('COLLECTION_VIRTUAL_MCP_GET', { id: await idOf('Support') });
      expect(body.item.connections).toMatchObject([
        { selected_tools: ['echo', dressed, hiding], approval: ['get-sum'] },
      ]);
    });
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByRole('row', { name: /add_two.*First.*get-sum/ }).waitFor();
    await opened.close();
  }, 120_000);

  it('knows what calls of such a tool have taken', async () => {
    const thread = await ThreadClient.create(fixture.service, await idOf('Support'));
    const taskId = await thread.postMessage('/call add_two {"b":40}');
    await thread.waitFor(taskId, 'waiting');
    const opened = await fixture.open(`playground/${thread.id}`);
    const { page } = opened;
    const call = page.getByRole('region', { name: 'Tool call add_two' });
    await call.getByRole('button', { name: 'Approve' }).click();
    await call
      .locator('summary')
      .first()
      .getByText(/^[\d.]+ m?s$/)
      .waitFor();
    // In the trace, the record of the call has its part of the answer.
    await page.goto(fixture.address(`runs/${taskId}`));
    await page
      .getByRole('list', { name: 'Timeline' })
      .getByRole('button', { name: /^get-sum/ })
      .click();
    await page.getByRole('region', { name: 'get-sum' }).getByText('add_two').first().waitFor();
    await opened.close();
  }, 120_000);

  it('is tried beside its settings, and goes back to an earlier version', async () => {
    const opened = await openAgent('Support');
    const { page } = opened;
    const trial = page.getByRole('region', { name: 'Try it' });
    const send = async (text: string): Promise<void> => {
      await trial.getByLabel('Message', { exact: true }).fill(text);
      await trial.getByRole('button', { name: 'Send', exact: true, disabled: false }).click();
    };
    await send('Hello');
    await trial.getByText('You said: Hello', { exact: true }).waitFor();
    await page.waitForURL(/thread=/);
    await page.getByRole('textbox', { name: 'Instructions (optional)' }).fill('Answer in two sentences.');
    await trial.getByText('The answers come from the agent as it was saved.').waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await trial.getByRole('button', { name: 'Save and try' }).click();
    await page.getByText('The agent was saved.').waitFor();
    await trial.getByText('The answers come from the agent as it was saved.').waitFor({ state: 'detached' });
    // The chat goes on.
    await send('Again');
    await trial.getByText('You said: Again', { exact: true }).waitFor();
    await trial.getByText('You said: Hello', { exact: true }).waitFor();

    await page.getByRole('tab', { name: 'Versions' }).click();
    const differences = page.getByRole('region', { name: 'Differences of Instructions' });
    await differences.getByText('removed: Answer in one sentence.').waitFor();
    await differences.getByText('added: Answer in two sentences.').waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    expect(await page.getByRole('button', { name: /^Go back to version/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Show version 2', exact: true }).click();
    await page.waitForURL(/version=v2/);
    await page.getByRole('button', { name: 'Go back to version 2' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Go back to version 2' }).click();
    await page.getByText('back to version 2', { exact: true }).waitFor();
    const { body } = await fixture.service
      .tool('COLLECTION_VIRTUAL_MCP_GET', { id: await idOf('Support') })
      .expect(200);
    expect(body.item.instructions).toBe('Answer in one sentence.');

    await page.getByRole('tab', { name: 'Runs' }).click();
    await page.getByRole('region', { name: 'Runs of the agent' }).getByText('Again').waitFor();
    await opened.expectAccessible();
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page.getByRole('row', { name: /Support/ }).waitFor();
    await opened.close();
  }, 120_000);

  it('gives settings for MCP clients to copy', async () => {
    const opened = await openAgent('Support');
    const { page } = opened;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('tab', { name: 'Use it' }).click();
    const setting = page.getByRole('region', { name: 'VS Code', exact: true });
    // It says so for a short time.
    const copying = setting.getByRole('button', { name: 'Copy' });
    await Promise.all([setting.getByText('Copied').waitFor(), copying.click()]);
    const copied = JSON.parse(await page.evaluate<string>('navigator.clipboard.readText()')) as {
      servers: { support: { url: string } };
    };
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    expect(copied.servers.support.url).toBe(`${fixture.service.url}/api/${fixture.service.org}/mcp/gateway/${id}`);

    await page.getByRole('combobox', { name: 'Who calls' }).selectOption({ label: 'With an API key' });
    await page.getByRole('heading', { name: 'curl' }).waitFor();
    const permissions = page.getByRole('region', { name: 'Permissions of the key' });
    expect(await permissions.textContent()).toContain(id);
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await opened.close();
  }, 120_000);

  it('says that an agent would contain itself, and deletes after a question', async () => {
    const { body } = await fixture.service
      .tool('COLLECTION_VIRTUAL_MCP_CREATE', {
        data: { title: 'Outer', connections: [{ connection_id: await idOf('Support') }] },
      })
      .expect(200);
    const opened = await fixture.open(`agents/${await idOf('Support')}?tab=settings`, { colorScheme: 'dark' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Add Outer' }).click();
    await page.getByRole('button', { name: 'Save agent' }).click();
    await page.getByText('The agent would contain itself').first().waitFor();
    await opened.expectAccessible();
    await page.goto(fixture.address(`agents/${body.item.id}?tab=settings`));
    await page.getByRole('button', { name: 'Delete agent' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete agent' }).click();
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
    await page.getByRole('link', { name: 'Support', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Outer', exact: true }).waitFor({ state: 'detached' });
    await opened.close();
  }, 120_000);

  it('shows what definitions cost, and lets the model search for tools', async () => {
    const opened = await openAgent('Support');
    const { page } = opened;
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByText(/^all, about \d+ tokens$/).waitFor();
    await page.getByRole('tab', { name: 'Build' }).click();
    await page.getByText(/The definitions of all tools take about \d+ tokens/).waitFor();
    await page.getByRole('combobox', { name: 'What the model gets' }).selectOption({ label: 'A search for tools' });
    const pinned = page.getByRole('textbox', { name: 'Pinned tools (optional)' });
    await pinned.fill('echo, not a tool!');
    await page.getByRole('button', { name: 'Save agent' }).click();
    await page.getByText('Each tool must be a name of 1 to 64').first().waitFor();
    await pinned.fill('echo, get-sum echo');
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.getByRole('button', { name: 'Save agent' }).click();
    await page.getByText('The agent was saved.').waitFor();
    const { body } = await fixture.service
      .tool('COLLECTION_VIRTUAL_MCP_GET', { id: await idOf('Support') })
      .expect(200);
    expect(body.item).toMatchObject({ tool_mode: 'search', pinned_tools: ['echo', 'get-sum'] });
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByText(/^a search and the pinned ones, about \d+ tokens$/).waitFor();
    // Another agent can still choose among all tools of this one.
    await page.goto(fixture.address('agents/new'));
    await page.getByRole('button', { name: 'Add Support' }).click();
    await page.getByText('3 at the moment').waitFor();
    await opened.close();
  }, 120_000);

  it('warns of a connection that is switched off', async () => {
    const { body } = await fixture.service.tool('COLLECTION_CONNECTIONS_LIST').expect(200);
    const first = body.items.find(({ title }: { title: string }) => title === 'First');
    await fixture.service
      .tool('COLLECTION_CONNECTIONS_UPDATE', { id: first.id, data: { status: 'inactive' } })
      .expect(200);
    const opened = await openAgent('Support');
    await opened.page.getByRole('tab', { name: 'Overview' }).click();
    await opened.page.getByText('The agent does without its tools meanwhile.').waitFor();
    await opened.page.getByRole('tab', { name: 'Build' }).click();
    await opened.page.getByText('This connection is switched off').waitFor();
    await opened.expectAccessible();
    await opened.close();
  }, 120_000);

  it('keeps what is typed when somebody else changes the agent', async () => {
    const id = await idOf('Support');
    const opened = await openAgent('Support');
    const { page } = opened;
    const instructions = page.getByRole('textbox', { name: 'Instructions (optional)' });
    await instructions.fill('Answer in three sentences.');
    let changes = 0;
    await eventually(async () => {
      // A page listens to changes a moment after it is opened.
      const data = { description: `Change ${++changes}` };
      await fixture.service.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data }).expect(200);
      return (await page.getByText('Somebody changed the agent meanwhile.').count()) > 0;
    });
    expect(await instructions.inputValue()).toBe('Answer in three sentences.');
    await opened.expectAccessible();
    await page.getByRole('button', { name: 'Load it' }).click();
    const description = page.getByRole('textbox', { name: 'Description (optional)' });
    await eventually(async () => expect(await description.inputValue()).toBe(`Change ${changes}`));
    expect(await instructions.inputValue()).not.toBe('Answer in three sentences.');
    await opened.close();
  }, 120_000);

  it('keeps what is typed while the agent is saved', async () => {
    const opened = await openAgent('Support');
    const { page } = opened;
    const instructions = page.getByRole('textbox', { name: 'Instructions (optional)' });
    const description = page.getByRole('textbox', { name: 'Description (optional)' });
    const save = page.getByRole('button', { name: 'Save agent' });
    const saved = Promise.withResolvers<void>();
    await page.route('**/COLLECTION_VIRTUAL_MCP_UPDATE', (route) => saved.promise.then(() => route.continue()));
    await instructions.fill('Answer in four sentences.');
    await save.click();
    await page.locator('button[aria-busy="true"]', { hasText: 'Save agent' }).waitFor();
    await description.fill('For customers');
    saved.resolve();
    await page.getByText('The agent was saved.').waitFor();
    expect(await description.inputValue()).toBe('For customers');
    expect(await instructions.inputValue()).toBe('Answer in four sentences.');
    const again = page.waitForResponse('**/COLLECTION_VIRTUAL_MCP_UPDATE');
    await save.click();
    const { item } = await (await again).json();
    expect(item).toMatchObject({ description: 'For customers' });
    await opened.close();
  }, 120_000);

  it('tells a member without permissions that there is no access', async () => {
    const denied = await fixture.open('agents', { role: 'member' });
    await denied.page.getByText('You do not have access to this.').waitFor();
    expect(await denied.page.getByRole('link', { name: 'Create agent' }).count()).toBe(0);
    await denied.expectAccessible();
    await denied.page.goto(denied.page.url().replace(/agents.*/, 'agents/new'));
    await denied.page.getByText('Your role or key cannot create agents.').waitFor();
    await denied.close();
  }, 120_000);

  async function openAgent(title: string): Promise<ConsolePage> {
    const opened = await fixture.open('agents');
    await opened.page.getByRole('link', { name: title, exact: true }).click();
    await opened.page.getByRole('heading', { level: 1, name: title }).waitFor();
    return opened;
  }

  async function idOf(title: string): Promise<string> {
    const { body } = await fixture.service.tool('COLLECTION_VIRTUAL_MCP_LIST').expect(200);
    return body.items.find((agent: { title: string }) => agent.title === title).id;
  }
});
