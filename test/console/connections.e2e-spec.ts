import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { inBrowser } from '../support/chromium.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

interface Named {
  readonly id: string;
  readonly title: string;
}

inBrowser('the connections in the console', () => {
  let fixture: ConsoleFixture;
  let upstream: EverythingServer;
  beforeAll(async () => {
    [fixture, upstream] = await Promise.all([ConsoleFixture.start(newTenant), startEverything()]);
  }, 120_000);
  afterAll(async () => {
    await Promise.all([fixture?.close(), upstream?.close()]);
  });

  it('says what to do when there is nothing', async () => {
    const opened = await fixture.open('connections');
    const { page } = opened;
    await page.getByText('There are no connections yet.').waitFor();
    await page.getByRole('button', { name: 'Import a configuration' }).waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await opened.close();
  }, 60_000);

  it('creates a connection to a real MCP server, tests it, and calls a tool from a form made of its schema', async () => {
    const opened = await fixture.open('connections');
    const { page } = opened;
    await page.getByRole('button', { name: 'Create connection' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Title' }).fill('Everything');
    await dialog.getByRole('textbox', { name: 'Address' }).fill(upstream.url);
    await opened.expectAccessible();
    await dialog.getByRole('button', { name: 'Create connection' }).click();

    // It is tested when it is made, in the same place.
    await dialog.getByText('works', { exact: true }).waitFor();
    await dialog.getByText('13 tools, 13 chosen').waitFor();
    await dialog.getByRole('row', { name: /get-sum/ }).waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await dialog.getByRole('link', { name: 'Open connection' }).click();
    await page.getByRole('heading', { level: 1, name: 'Everything' }).waitFor();
    await page.getByText('active').first().waitFor();
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByText(/Connected; both sides speak MCP/).waitFor();
    await page.getByText(/Listed \d+ tools/).waitFor();
    await opened.expectAccessible();

    await page.getByRole('tab', { name: 'Tools' }).click();
    await page.getByRole('searchbox', { name: 'Search the tools' }).fill('sum');
    await page.getByRole('link', { name: /get-sum/ }).click();
    await page.getByRole('button', { name: 'Call tool' }).click();
    // Nothing was entered: the form says so, and calls nothing.
    expect(await page.getByText('A value is required.').count()).toBe(2);
    await page.getByRole('textbox', { name: 'a', exact: true }).fill('2');
    await page.getByRole('textbox', { name: 'b', exact: true }).fill('3');
    await page.getByRole('button', { name: 'Call tool' }).click();
    await page.getByText('The sum of 2 and 3 is 5.').waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    expect(page.url()).toContain('tool=get-sum');
    // The list shows its 13 tools and the call. Loaded anew, it has no figures of before.
    await page.goto(fixture.address('connections'));
    await page.getByRole('row', { name: /Everything.* 13 1 0 % / }).waitFor();
    await opened.expectAccessible();
    await opened.close();
  }, 120_000);

  it('makes an agent with the chosen tools of a new connection', async () => {
    const opened = await fixture.open('connections?create=http');
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Title' }).fill('Second');
    await dialog.getByRole('textbox', { name: 'Address' }).fill(upstream.url);
    await dialog.getByRole('button', { name: 'Create connection' }).click();
    await dialog.getByRole('button', { name: 'Choose none' }).click();
    const make = dialog.getByRole('button', { name: 'Make an agent with these' });
    expect(await make.isDisabled()).toBe(true);
    await dialog.getByRole('checkbox', { name: 'Use echo' }).check();
    await dialog.getByRole('checkbox', { name: 'Ask before destructive calls' }).check();
    await dialog.getByRole('textbox', { name: 'Title of the agent' }).fill('Parrot');
    await make.click();
    await page.getByRole('heading', { level: 1, name: 'Parrot' }).waitFor();
    const { body } = await fixture.service.tool('COLLECTION_VIRTUAL_MCP_LIST').expect(200);
    expect(body.items[0].connections).toMatchObject([{ selected_tools: ['echo'], approval: 'destructive' }]);
    await opened.close();
  }, 60_000);

  it('fills the form from the catalog, and offers programs only to those who may start them', async () => {
    const opened = await fixture.open('connections?create=catalog');
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Find a server' }).fill('docum');
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await dialog.getByRole('button', { name: 'Fill the form for Notion' }).waitFor({ state: 'detached' });
    await dialog.getByRole('textbox', { name: 'Find a server' }).fill('github');
    await dialog.getByRole('button', { name: 'Fill the form for GitHub' }).click();
    expect(await dialog.getByRole('textbox', { name: 'Title' }).inputValue()).toBe('GitHub');
    expect(await dialog.getByLabel('Address').inputValue()).toBe('https://api.githubcopilot.com/mcp/');
    expect(await dialog.getByLabel('Authentication').inputValue()).toBe('token');
    await dialog.getByRole('link', { name: 'Documentation of GitHub' }).waitFor();
    await opened.expectAccessible();

    await page.goto(fixture.address('connections?create=program&server=brave-search'));
    await dialog.getByText('A key of the Brave Search API.').waitFor();
    expect(await dialog.getByRole('textbox', { name: 'Name of variable 1' }).inputValue()).toBe('BRAVE_API_KEY');
    await opened.close();

    const self = ['COLLECTION_CONNECTIONS_LIST', 'COLLECTION_CONNECTIONS_CREATE'];
    await fixture.service.tool('ROLE_CREATE', { name: 'connector', permissions: { self } }).expect(200);
    const limited = await fixture.open('connections?create=catalog', { role: 'connector' });
    const program = limited.page.getByRole('listitem').filter({ hasText: 'Playwright' });
    await program.getByText('Starting programs needs the permission CONNECTION_STDIO').waitFor();
    expect(await program.getByRole('button').count()).toBe(0);
    await limited.close();
  }, 120_000);

  it('tests a new connection at once, mends it, and says since when it does not work', async () => {
    const opened = await fixture.open('connections?create=http');
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Title' }).fill('Dead');
    await dialog.getByRole('textbox', { name: 'Address' }).fill('http://127.0.0.1:9/mcp');
    await dialog.getByRole('button', { name: 'Create connection' }).click();
    await dialog.getByText('refused the connection').waitFor();
    await dialog.getByRole('textbox', { name: 'Address' }).fill(upstream.url);
    await dialog.getByRole('button', { name: 'Save and test again' }).click();
    await dialog.getByText('13 tools, 13 chosen').waitFor();
    const [{ id }] = (
      await fixture.service
        .tool('COLLECTION_CONNECTIONS_LIST', { where: { field: ['title'], operator: 'eq', value: 'Dead' } })
        .expect(200)
    ).body.items;
    const data = { connection_url: 'http://127.0.0.1:9/mcp' };
    await fixture.service.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data }).expect(200);
    await dialog.getByRole('button', { name: 'Test again' }).click();
    await dialog.getByText('refused the connection').waitFor();
    await opened.expectAccessible();
    await dialog.getByRole('button', { name: 'Close' }).click();
    const row = page.getByRole('row').filter({ hasText: 'Dead' });
    await row.getByText('error', { exact: true }).waitFor();
    await row.getByText(/^changed /).waitFor();
    await opened.close();
  }, 60_000);

  it('walks from a key to a tool that it can call and back, with the keyboard', async () => {
    const { service } = fixture;
    const { items } = (await service.tool('COLLECTION_CONNECTIONS_LIST')).body as { items: Named[] };
    const id = items.find(({ title }) => title === 'Everything')?.id ?? '';
    const key = await service.tool('API_KEY_CREATE', { name: 'walker', permissions: { [id]: ['get-sum'] } });
    const opened = await fixture.open(`keys?key=${key.body.id}`);
    const { page } = opened;
    await page.getByRole('link', { name: 'What can this key do?' }).click();
    await page.getByRole('heading', { level: 1, name: 'What the key walker can do' }).waitFor();
    await page.getByRole('link', { name: /^1 of \d+ tools/ }).click();
    const tools = page.getByRole('region', { name: 'What walker can call of Everything' });
    const permitted = tools.getByRole('row').filter({ hasText: 'yes' });
    await permitted.getByRole('link', { name: 'get-sum' }).waitFor();
    expect(await permitted.count()).toBe(1);
    await opened.expectAccessible();
    await opened.expectToFit(360);

    const picture = page.getByRole('group', { name: 'Who reaches what' });
    await picture.getByRole('link', { name: 'Key walker' }).focus();
    // It may run the agent that a test before made, too.
    await page.keyboard.press('ArrowRight');
    await picture
      .locator(':focus')
      .and(picture.getByRole('link', { name: 'Agent Parrot' }))
      .waitFor();
    await picture.getByRole('link', { name: 'Connection Everything' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Who reaches Everything' }).waitFor();
    await picture
      .locator(':focus')
      .and(picture.getByRole('link', { name: 'Connection Everything' }))
      .waitFor();
    await picture.getByRole('link', { name: 'Tool get-sum' }).click();
    await page.getByRole('heading', { level: 1, name: 'Who can call get-sum' }).waitFor();
    const callers = page.getByRole('region', { name: 'Who can call it' }).getByRole('row');
    await callers
      .filter({ hasText: 'walker' })
      .getByText(/^directly/)
      .waitFor();
    await opened.expectAccessible();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Who reaches Everything' }).waitFor();
    await page.getByRole('searchbox', { name: /^Find a key/ }).fill('walk');
    await page.getByRole('region', { name: 'Found' }).getByRole('link', { name: 'walker' }).waitFor();
    await opened.close();
  }, 60_000);

  it('shows resources, prompts and who can call what', async () => {
    const opened = await openConnection('Everything');
    const { page } = opened;
    await page.getByRole('tab', { name: 'Resources' }).click();
    await page
      .getByRole('button', { name: /^Read / })
      .first()
      .click();
    await page
      .getByRole('region', { name: /^Content of / })
      .first()
      .waitFor();
    await page.getByRole('tab', { name: 'Prompts' }).click();
    await page.getByRole('button', { name: 'Get prompt' }).first().click();
    await page
      .getByRole('region', { name: /^Message 1 of / })
      .first()
      .waitFor();
    await page.getByRole('tab', { name: 'Access' }).click();
    await page.getByText('Role owner can call every tool, and read resources and prompts.').waitFor();
    await page.getByText(/Looked through \d+ of \d+ keys/).waitFor();
    await opened.expectAccessible();
    await opened.close();
  }, 120_000);

  it('previews the import of a configuration, names the entry that is refused, and imports the others', async () => {
    const opened = await fixture.open('connections?create=import', { colorScheme: 'dark' });
    const { page } = opened;
    const mcpServers = {
      documents: { url: 'http://127.0.0.1:9/mcp' },
      outdated: { type: 'sse', url: 'http://127.0.0.1:9/sse' },
    };
    await page.getByRole('textbox', { name: 'Configuration' }).fill(JSON.stringify({ mcpServers }));
    await page.getByRole('button', { name: 'Preview import' }).click();
    const plan = page.getByRole('region', { name: 'What the import would do' });
    await plan.getByRole('row', { name: /documents.*will be created/ }).waitFor();
    await plan.getByRole('row', { name: /outdated.*refused.*not supported/ }).waitFor();
    await opened.expectAccessible();
    await page.getByRole('button', { name: 'Import 1 connection' }).click();
    await page.getByRole('row', { name: /documents.*created/ }).waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'documents' }).waitFor();
    expect(await page.getByRole('link', { name: 'outdated' }).count()).toBe(0);
    await opened.expectAccessible();
    await opened.close();
  }, 120_000);

  it('says why a server cannot be reached, changes the settings, and deletes after a question', async () => {
    const opened = await openConnection('documents');
    const { page } = opened;
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByText(/^Could not connect: /).waitFor();
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Papers');
    await page.getByRole('button', { name: 'Save settings' }).click();
    await page.getByRole('heading', { level: 1, name: 'Papers' }).waitFor();
    await opened.expectAccessible();
    await page.getByRole('button', { name: 'Delete connection' }).click();
    const question = page.getByRole('alertdialog');
    await question.getByText('No agent uses it.').waitFor();
    await question.getByRole('button', { name: 'Delete connection' }).click();
    await page.getByRole('heading', { level: 1, name: 'Connections' }).waitFor();
    await page.getByRole('link', { name: 'Everything' }).waitFor();
    await page.getByRole('link', { name: 'Papers' }).waitFor({ state: 'detached' });
    await opened.close();
  }, 120_000);

  it('makes one agent, though the view of the agent takes long to load', async () => {
    const opened = await fixture.open('connections?create=http');
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Title' }).fill('Third');
    await dialog.getByRole('textbox', { name: 'Address' }).fill(upstream.url);
    await dialog.getByRole('button', { name: 'Create connection' }).click();
    const loaded = Promise.withResolvers<void>();
    await page.route('**/agent-view-*.js', (route) => loaded.promise.then(() => route.continue()));
    const loads = page.waitForRequest('**/agent-view-*.js');
    let made = 0;
    page.on('request', (request) => (made += request.url().endsWith('/COLLECTION_VIRTUAL_MCP_CREATE') ? 1 : 0));
    const title = dialog.getByRole('textbox', { name: 'Title of the agent' });
    await title.fill('Only one');
    await title.press('Enter');
    await loads;
    await title.press('Enter');
    loaded.resolve();
    await page.getByRole('heading', { level: 1, name: 'Only one' }).waitFor();
    expect(made).toBe(1);
    await opened.close();
  }, 120_000);

  it('keeps what is typed into a search while the address takes what was typed before', async () => {
    const opened = await openConnection('Everything');
    const { page } = opened;
    await page.getByRole('tab', { name: 'Tools' }).click();
    const search = page.getByRole('searchbox', { name: 'Search the tools' });
    await search.waitFor();
    // Types a letter when the address changes, before the view is told of it.
    await page.evaluate(`{
      const replaceState = history.replaceState;
      history.replaceState = (...change) => {
        replaceState.apply(history, change);
        if (!String(change[2]).includes('q=su')) return;
        history.replaceState = replaceState;
        document.execCommand('insertText', false, 'm');
      };
    }`);
    await search.fill('su');
    await page.waitForURL((url) => url.searchParams.get('q') === 'sum');
    expect(await search.inputValue()).toBe('sum');
    await opened.close();
  }, 120_000);

  it('keeps what is typed while the settings are saved', async () => {
    const opened = await openConnection('Everything');
    const { page } = opened;
    await page.getByRole('tab', { name: 'Settings' }).click();
    const description = page.getByRole('textbox', { name: 'Description (optional)' });
    const limit = page.getByRole('spinbutton', { name: 'Time limit for a call, in seconds' });
    const save = page.getByRole('button', { name: 'Save settings' });
    const saved = Promise.withResolvers<void>();
    await page.route('**/COLLECTION_CONNECTIONS_UPDATE', (route) => saved.promise.then(() => route.continue()));
    await description.fill('All there is');
    await save.click();
    await page.locator('button[aria-busy="true"]', { hasText: 'Save settings' }).waitFor();
    await limit.fill('45');
    saved.resolve();
    await page.getByText('The settings were saved.').waitFor();
    expect(await limit.inputValue()).toBe('45');
    expect(await description.inputValue()).toBe('All there is');
    const again = page.waitForResponse('**/COLLECTION_CONNECTIONS_UPDATE');
    await save.click();
    const { item } = await (await again).json();
    expect(item).toMatchObject({ description: 'All there is', timeout: 45_000 });
    await opened.close();
  }, 120_000);

  it('tells a member without permissions that there is no access, and what cannot be found', async () => {
    const denied = await fixture.open('connections', { role: 'member' });
    await denied.page.getByText('You do not have access to this.').waitFor();
    expect(await denied.page.getByRole('button', { name: 'Create connection' }).count()).toBe(0);
    await denied.expectAccessible();
    await denied.close();
    const unknown = await fixture.open('connections/01890a5d-ac96-774b-bcce-b302099a8057');
    await unknown.page.getByText('There is no connection with this id in the organization.').waitFor();
    await unknown.page.getByRole('button', { name: 'Try again' }).waitFor();
    await unknown.expectAccessible();
    await unknown.close();
  }, 120_000);

  async function openConnection(title: string): Promise<ConsolePage> {
    const opened = await fixture.open('connections');
    await opened.page.getByRole('link', { name: title }).click();
    await opened.page.getByRole('heading', { level: 1, name: title }).waitFor();
    return opened;
  }
});
