import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { McpUpstream } from '../../src/boot/testing/mcp-upstream.js';
import {
  createAskingAgent,
  SCRIPTED,
  startUpstream,
  useScriptedModel,
} from '../runtime/approvals/approvals.support.js';
import { connect, ThreadClient } from '../support/agent-runs.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { eventually } from '../support/eventually.js';
import { type FakeOpenAI, startFakeOpenAI } from '../support/fake-openai.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const TIMEOUT_MS = 120_000;
const OVERRIDE = '\u202E';
const LONG = 'x'.repeat(5_000);

let fixture: ConsoleFixture;
let upstream: McpUpstream;
let model: FakeOpenAI;
let opened: ConsolePage;

beforeAll(async () => {
  if (!hasChromium) return;
  [fixture, upstream, model] = await Promise.all([ConsoleFixture.start(newTenant), startUpstream(), startFakeOpenAI()]);
  await useScriptedModel(fixture.service, model);
}, TIMEOUT_MS);
afterAll(async () => {
  await opened?.close();
  await fixture?.close();
  await upstream?.close();
  await model?.close();
});

inBrowser('the questions of a run', () => {
  it(
    'show what is asked of whom, in both themes, and stay answered after a reload',
    async () => {
      const { service } = fixture;
      const connectionId = await connect(service, upstream.url, 'Payments');
      const thread = await ThreadClient.create(service, await createAskingAgent(service, connectionId, 'all'));
      model.script({
        kind: 'tool-calls',
        calls: [
          { name: 'send', arguments: { to: `${OVERRIDE}ECILA`, note: LONG } },
          { name: 'put', arguments: {} },
          { name: 'wipe', arguments: {} },
        ],
      });
      await thread.waitFor(await thread.postMessage('Go', SCRIPTED), 'waiting');
      opened = await fixture.open(`playground/${thread.id}`);
      const { page } = opened;
      const cardOf = (tool: string) => page.getByRole('region', { name: `Tool call ${tool}`, exact: true });

      const send = cardOf('send');
      await send.getByRole('button', { name: 'Approve' }).waitFor();
      await send.getByText('Payments', { exact: true }).waitFor();
      await send.getByText(new URL(upstream.url).host, { exact: true }).waitFor();
      await send.getByText(/^Arguments \(5,\d+ characters in 4 lines\)$/).waitFor();
      const shown = await send.getByRole('region', { name: 'Arguments of send' }).innerText();
      expect(shown).toContain('"\\u202eECILA"');
      expect(shown).toContain(LONG);
      expect(await page.getByRole('main').innerText()).not.toContain(OVERRIDE);
      await opened.expectAccessibleInBothThemes();
      await opened.expectToFit(360);

      await cardOf('put').getByRole('button', { name: 'Deny' }).click();
      await cardOf('put').getByText('denied', { exact: true }).waitFor();
      await page.reload();
      await send.getByRole('button', { name: 'Approve' }).waitFor();
      await cardOf('put').getByText('denied', { exact: true }).waitFor();
      expect(await cardOf('put').getByRole('button', { name: 'Approve' }).count()).toBe(0);
      for (const tool of ['send', 'wipe']) {
        await cardOf(tool).getByRole('button', { name: 'Approve' }).click();
        await cardOf(tool).getByRole('button', { name: 'Approve' }).waitFor({ state: 'detached' });
      }
      for (const tool of ['send', 'wipe']) {
        await cardOf(tool).getByText('completed').waitFor();
        await cardOf(tool).locator('summary').first().click();
        await cardOf(tool).getByText('Approved', { exact: true }).waitFor();
      }
      expect(upstream.calls.map(({ tool }) => tool).toSorted()).toEqual(['send', 'wipe']);
      expect(opened.problems).toEqual([]);
      await opened.close();
    },
    TIMEOUT_MS,
  );

  it('shorten their waits in the timeline of the run, so that the work is seen', async () => {
    const { service } = fixture;
    const connectionId = await connect(service, upstream.url, 'Payments');
    const thread = await ThreadClient.create(service, await createAskingAgent(service, connectionId, 'all'));
    model.script({ kind: 'tool-calls', calls: [{ name: 'put', arguments: {} }] });
    const taskId = await thread.postMessage('Go', SCRIPTED);
    await thread.waitFor(taskId, 'waiting');
    opened = await fixture.open(`runs/${taskId}`);
    const { page } = opened;
    /** From which times on the page has read calls. */
    const read: number[] = [];
    page.on('request', (request) => {
      if (!request.url().endsWith('/tools/MONITORING_LOGS_LIST')) return;
      const { where } = request.postDataJSON() as { where: { conditions: { operator: string; value: string }[] } };
      read.push(Date.parse(where.conditions.find(({ operator }) => operator === 'gte')?.value ?? ''));
    });
    // The wait grows, the work does not.
    await eventually(async () => {
      await page.reload();
      await opened.settled();
      expect(await page.getByRole('button', { name: 'Show waits at full length' }).count()).toBe(1);
    });
    const timeline = page.getByRole('list', { name: 'Timeline' });
    await timeline.getByRole('button', { name: /^Approval of put/ }).click();
    await page.getByRole('region', { name: 'Approval of put' }).getByText('not answered yet').waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.getByRole('button', { name: 'Show waits at full length' }).click();
    await page.getByRole('button', { name: 'Shorten waits' }).waitFor();
    // What was read before the run went on is not read again.
    const firstRead = Math.min(...read.splice(0));
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await timeline.getByRole('button', { name: /^put/ }).waitFor();
    await eventually(() => expect(read).not.toEqual([]));
    expect(Math.min(...read)).toBeGreaterThan(firstRead);
  });
});
