import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { connect, createAgent, ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { startTestService, type TestService } from '../support/service.js';
import { ConsoleFixture } from './console-fixture.js';

inBrowser('Overview and monitoring', () => {
  let fixture: ConsoleFixture<TestService>;
  let upstream: EverythingServer;

  beforeAll(async () => {
    upstream = await startEverything();
    fixture = await ConsoleFixture.start(startTestService);
  });
  afterAll(async () => {
    await fixture.close();
    await upstream.close();
  });

  it('says what to do next on an empty installation', async () => {
    const opened = await fixture.open('overview');
    const { page } = opened;
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await opened.expectAccessible();
    await page.getByRole('link', { name: 'Connect a server' }).click();
    await page.waitForURL('**/connections?create=*');
    await page.goBack();
    await page.getByRole('link', { name: 'Make an agent' }).click();
    await page.waitForURL('**/agents/new');
    await opened.close();
  });

  it('shows calls, runs, tokens, approvals and dead connections of real use', async () => {
    const { service } = fixture;
    const connection = await connect(service, upstream.url, 'Everything');
    const dead = await connect(service, 'http://127.0.0.1:9/mcp', 'Dead server');
    await service.tool('CONNECTION_TEST', { id: dead });
    await service.tool('AUDIT_SETTINGS_UPDATE', { content: true });
    const agent = await createAgent(service, [connection], { title: 'Support' });
    const thread = await ThreadClient.create(service, agent);
    for (const number of [1, 2, 3]) await thread.ask(`/call echo {"message":"hello ${number}"}`);
    await thread.ask('/fail The model is down');
    const data = { title: 'Careful', connections: [{ connection_id: connection, approval: 'all' }] };
    const careful = await createAgent(service, [], data);
    const waiting = await ThreadClient.create(service, careful);
    await waiting.waitFor(await waiting.postMessage('/call echo {"message":"may I"}'), 'waiting');

    const opened = await fixture.open('overview?period=7d');
    const { page } = opened;
    await page.getByRole('link', { name: 'Careful: echo' }).waitFor();
    await page.getByRole('link', { name: 'Dead server' }).waitFor();
    await page.getByRole('link', { name: /The model is down/ }).waitFor();
    const byAgent = page.getByRole('region', { name: 'Tokens and cost by agent' }).last();
    await byAgent
      .getByRole('row', { name: /Support/ })
      .getByText('no price set')
      .waitFor();
    const runs = page.getByRole('figure', { name: 'Runs over time', exact: true });
    await runs.getByText('Show as table').click();
    const rows = await runs.getByRole('row').allTextContents();
    // Completed, failed, cancelled, not finished.
    expect(rows.at(-1)).toMatch(/3101$/);
    await page.locator('.recharts-bar-rectangle path').first().waitFor();
    await opened.expectAccessibleInBothThemes();
    await opened.expectToFit(360);
    await opened.close();
  });

  it('filters the record of calls, and shows one with its arguments and its run', async () => {
    const opened = await fixture.open('monitoring');
    const { page } = opened;
    await page.getByRole('button', { name: /^Connection/ }).click();
    await page.getByRole('dialog').getByText('Everything').click();
    await page.waitForURL('**connection=*');
    await page.getByRole('searchbox', { name: 'Search by tool name' }).fill('ech');
    await page.waitForURL('**tool=ech*');
    await page.getByText('3 of 3').waitFor();
    await page.getByRole('button', { name: 'echo' }).first().click();
    const record = page.getByRole('dialog', { name: 'Tool call' });
    await record.getByText('hello 3').first().waitFor();
    await opened.expectAccessible();
    // A run is named by its question.
    expect(await record.getByRole('link', { name: /call echo.*hello 3/ }).getAttribute('href')).toContain('/runs/');
    await page.keyboard.press('Escape');
    await page.getByLabel('Outcome').selectOption('denied');
    await page.getByText('No call matches.').waitFor();
    await opened.expectToFit(360);
    await opened.close();
  });

  it('has a page for a screen on the wall, which is dark and has no navigation', async () => {
    const opened = await fixture.open('overview', { viewport: { width: 1920, height: 1080 } });
    const { page } = opened;
    await page.getByRole('link', { name: 'For a screen on the wall' }).click();
    await page.getByText('1 run failed', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Failed runs by error' }).getByRole('link').waitFor();
    await page.getByRole('figure', { name: 'Tool calls over time' }).waitFor();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    expect(await page.getByRole('navigation').count()).toBe(0);
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.getByRole('link', { name: 'Back to the overview' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('light');
    await opened.close();
  });

  it('charts calls by connection and tool, and lists audit events', async () => {
    const opened = await fixture.open('monitoring?tab=statistics', { colorScheme: 'dark' });
    const { page } = opened;
    await page
      .getByRole('region', { name: 'Calls by connection' })
      .getByRole('row', { name: /Everything 3/ })
      .waitFor();
    await page.getByRole('region', { name: 'Calls by tool' }).getByRole('button', { name: 'echo' }).waitFor();
    await page.locator('.recharts-bar-rectangle path').first().waitFor();
    await page.getByRole('figure', { name: 'Duration over time' }).waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.getByRole('slider', { name: /^Zoom: Tool calls over time/ }).focus();
    await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.press('Enter');
    await page.waitForURL('**from=*');
    await page.getByRole('button', { name: 'Zoom out' }).waitFor();
    await page.getByRole('region', { name: 'Calls by tool' }).getByRole('button', { name: 'echo' }).waitFor();
    await page.getByRole('slider', { name: /^Zoom: Tool calls over time/ }).focus();
    await page.keyboard.press('Escape');
    await page.waitForURL(({ search }) => !search.includes('from='));
    await page.getByRole('tab', { name: 'Audit events' }).click();
    await page.getByLabel('Event', { exact: true }).selectOption({ label: 'Signed in' });
    await page.getByRole('button', { name: 'Signed in' }).first().click();
    await page.getByRole('dialog', { name: 'Audit event' }).getByText('login.succeeded').waitFor();
    await opened.expectAccessible();
    await opened.close();
  });

  it('shows why an export failed, though another one was begun meanwhile', async () => {
    const opened = await fixture.open('monitoring');
    const { page } = opened;
    const answered = Promise.withResolvers<void>();
    await page.route('**/monitoring/export', async (route) => {
      if (route.request().postDataJSON().format !== 'csv') return route.continue();
      await answered.promise;
      const body = JSON.stringify({ status: 400, code: 'bad_request', detail: 'Not today.' });
      return route.fulfill({ status: 400, contentType: 'application/problem+json', body });
    });
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export JSON lines' }).click();
    await saving;
    await page.locator('button[aria-busy="true"]', { hasText: 'Export CSV' }).waitFor();
    answered.resolve();
    await page.getByRole('alert').getByText('Not today.').waitFor();
    await opened.expectAccessible();
    await opened.close();
  });

  it('saves no part of an export that breaks off', async () => {
    await fixture.service.query(
      `INSERT INTO audit_records (organization_id, at, id, door, tool_name, status, duration_ms, request_id, public)
       SELECT o.id, now() - n * interval '1 second', gen_random_uuid(), 'proxy', 't', 'success', n, 'r', false
         FROM organizations o, generate_series(1, 40000) n WHERE o.slug = '${fixture.service.org}'`,
    );
    const opened = await fixture.open('monitoring');
    const { page } = opened;
    await opened.settled();
    let downloads = 0;
    page.on('download', () => downloads++);
    const locker = new Client({ connectionString: fixture.service.database.url });
    await locker.connect();
    try {
      // The head of the table is sent before the first record is read.
      await locker.query('BEGIN; LOCK TABLE audit_records IN ACCESS EXCLUSIVE MODE');
      const answered = page.waitForResponse('**/monitoring/export');
      await page.getByRole('button', { name: 'Export CSV' }).click();
      expect((await answered).status()).toBe(200);
      await locker.query('ALTER TABLE audit_records RENAME TO audit_records_away; COMMIT');
    } finally {
      await locker.end();
    }
    try {
      await page.getByRole('alert').getByText('The export broke off before its end').waitFor();
    } finally {
      await fixture.service.query('ALTER TABLE audit_records_away RENAME TO audit_records');
    }
    expect(downloads).toBe(0);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    await saving;
    expect(await page.getByRole('alert').count()).toBe(0);
    await fixture.service.query(`DELETE FROM audit_records WHERE tool_name = 't'`);
    await opened.close();
  });

  it('tells somebody without permissions, and somebody whom the service fails', async () => {
    const member = await fixture.open('monitoring', { role: 'member' });
    await member.page.getByText('You do not have access to this.').waitFor();
    await member.page.getByRole('link', { name: 'Overview' }).click();
    await member.page.getByText('Your role “member” shows nothing here yet.').waitFor();
    await member.page.getByText(/COLLECTION_THREADS_CREATE/).waitFor();
    await member.expectAccessible();
    await member.close();

    const opened = await fixture.open('keys');
    await opened.page.route('**/tools/MONITORING_LOGS_LIST', (route) => route.fulfill({ status: 400, body: '{}' }));
    await opened.page.getByRole('link', { name: 'Monitoring' }).click();
    await opened.page.getByText('This could not be loaded.').waitFor();
    await opened.close();
  });
});
