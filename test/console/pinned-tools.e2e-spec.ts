import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createAgent, succeed } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { connectTo } from '../support/proxy-connections.js';
import { newTenant } from '../support/tenant.js';
import {
  BAD,
  diffOf,
  GOOD,
  type HoldingServer,
  OTHER,
  startHoldingServer,
  toolNamed,
} from '../upstreams/pins/pins.support.js';
import { ConsoleFixture } from './console-fixture.js';

inBrowser('Pinned tools in the console', () => {
  let fixture: ConsoleFixture;
  let server: HoldingServer;
  beforeAll(async () => {
    [fixture, server] = await Promise.all([ConsoleFixture.start(newTenant), startHoldingServer()]);
  });
  afterAll(async () => {
    await fixture.close();
    await server.close();
  });

  it('are pinned in the settings of a connection, and shown with their changes until they are approved', async () => {
    server.offered.tools = [GOOD, OTHER];
    const id = await connectTo(fixture.service, server.url);
    const opened = await fixture.open(`connections/${id}?tab=settings`);
    const { page } = opened;
    await page.getByRole('combobox', { name: 'Tools that change' }).selectOption('block');
    await page.getByRole('button', { name: 'Save settings' }).click();
    await page.getByText('The settings were saved.').waitFor();

    server.offered.tools = [BAD, OTHER, toolNamed('added')];
    await page.getByRole('tab', { name: 'Tools' }).click();
    const changes = page.getByRole('list', { name: 'Tools that are not approved' });
    const echo = changes.getByRole('listitem').filter({ hasText: '/description' });
    await echo.getByText(BAD.description ?? '').waitFor();
    await echo.getByText(GOOD.description ?? '', { exact: true }).waitFor();
    const tools = page.getByRole('list', { name: 'Tools', exact: true });
    await tools.getByText('other', { exact: true }).waitFor();
    expect(await tools.getByText('echo', { exact: true }).count()).toBe(0);
    await opened.expectAccessible();
    await opened.expectToFit(360);

    const connections = [{ connection_id: id, selected_tools: ['echo'] }];
    const agentId = await createAgent(fixture.service, [], { connections });
    const settings = await fixture.open(`agents/${agentId}?tab=settings`);
    await settings.page.getByRole('row', { name: 'echo not offered, or not approved' }).waitFor();
    await settings.close();

    await echo.getByRole('button', { name: 'Approve echo' }).click();
    await tools.getByText('echo', { exact: true }).waitFor();
    expect((await diffOf(fixture.service, id)).items.map(({ name }) => name)).toEqual(['added']);
    await changes.getByRole('button', { name: 'Approve added' }).click();
    await changes.waitFor({ state: 'detached' });
    await succeed(fixture.service, 'COLLECTION_CONNECTIONS_DELETE', { id });
    await opened.close();
  });
});
