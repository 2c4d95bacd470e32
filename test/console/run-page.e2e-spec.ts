import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { succeed, ThreadClient } from '../support/agent-runs.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import type { ConsoleFixture, ConsolePage } from './console-fixture.js';
import { Conversation, list } from './conversation.support.js';

const TIMEOUT_MS = 120_000;

let conversation: Conversation;
let fixture: ConsoleFixture;
let opened: ConsolePage;
let agentId: string;
let thread: ThreadClient;
let failedRun: string;

beforeAll(async () => {
  if (!hasChromium) return;
  conversation = await Conversation.start();
  ({ fixture, agentId, thread, failedRun } = conversation);
}, TIMEOUT_MS);
afterEach(() => opened?.close());
afterAll(() => conversation?.close());

inBrowser('A run', () => {
  it('shows all calls of a run, and draws those near the visible part of the list, and the end of its answer', async () => {
    const calls = 1_200;
    const { taskId } = await (await ThreadClient.create(fixture.service, agentId)).ask('/call look {}');
    // Of times within the run: of others, the record has no calls of it.
    await fixture.service.query(
      `INSERT INTO audit_records (organization_id, at, id, door, tool_name, status, duration_ms, run_id, agent_id,
                                  request_id, public)
       SELECT organization_id, finished_at, gen_random_uuid(), 'run', 'call-' || n, 'success', 1, id, agent_id, 'r', false
         FROM runs, generate_series(1, $2::int) n WHERE id = $1`,
      [taskId, calls],
    );
    await fixture.service.query(
      `UPDATE messages SET parts = (SELECT json_agg(json_build_object('type', 'text', 'text', 'part ' || n))
                                      FROM generate_series(1, 150) n)
        WHERE run_id = $1 AND role = 'assistant'`,
      [taskId],
    );
    opened = await fixture.open(`runs/${taskId}`);
    const { page } = opened;
    const answer = list(page, 'Answer');
    await answer.getByText('part 150', { exact: true }).waitFor();
    expect(await answer.getByText('part 50', { exact: true }).count()).toBe(0);
    await answer.getByRole('button', { name: 'Show 50 earlier parts' }).click();
    await answer.getByText('part 1', { exact: true }).waitFor();
    const rows = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
    // The wait for a worker, two steps with their model calls, the call of the run and the others.
    await page
      .locator(`[aria-setsize="${calls + 6}"]`)
      .first()
      .waitFor();
    expect(await rows.count()).toBeLessThan(100);
    await rows.getByRole('button').last().focus();
    await rows.last().evaluate((row) => row.parentElement?.parentElement?.scrollTo({ top: 1e6 }));
    await page.locator(`[aria-posinset="${calls + 6}"]`).waitFor();
    await opened.expectAccessible();
    // What an address names is in sight at once.
    await rows
      .getByRole('button', { name: /^call-/ })
      .last()
      .click();
    await page.waitForURL((url) => url.searchParams.has('span'));
    await page.reload();
    await rows.getByRole('button', { pressed: true }).click();
    await page.waitForURL((url) => !url.searchParams.has('span'));
    expect(opened.problems).toEqual([]);
  });

  it('shows what a model was sent, once the organization records it', async () => {
    opened = await fixture.open(`runs/${failedRun}`);
    const { page } = opened;
    const timeline = page.getByRole('list', { name: 'Timeline' });
    await timeline.getByRole('button', { name: /^Model, call 1/ }).click();
    await page.getByText('What models are sent is not recorded').waitFor();
    await page.getByRole('link', { name: 'Record it from now on' }).click();
    await list(page, 'Record of model calls').getByLabel('Everything').check();
    await page.getByRole('button', { name: 'Save what is recorded' }).click();
    await page.getByText('It counts for runs that begin now.').waitFor();
    await opened.expectAccessible();
    const own = await ThreadClient.create(fixture.service, agentId);
    const { taskId } = await own.ask('/call look {}');
    await page.goto(fixture.address(`runs/${taskId}`));
    await timeline.getByRole('button', { name: /^Model, call 2/ }).click();
    const model = list(page, 'Model, call 2');
    await model.getByText('What the model was sent').waitFor();
    for (const part of ['Messages', 'Tools', 'Settings', 'What came back']) {
      await model.locator('summary', { hasText: part }).click();
    }
    await model.getByRole('list', { name: 'Messages' }).getByText('all clear').waitFor();
    await model.getByRole('list', { name: 'Tools' }).getByText('derail', { exact: true }).waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await succeed(fixture.service, 'ORGANIZATION_UPDATE', { model_recording: 'off' });
  });

  it('runs a question again with a change, and shows both runs and what differs', async () => {
    opened = await fixture.open(`runs/${failedRun}`);
    const { page } = opened;
    await page.getByRole('button', { name: 'Run again' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run again' });
    const question = dialog.getByRole('textbox', { name: 'Question' });
    await expect(question.inputValue()).resolves.toBe('/call look {}\n/call derail {}\n/fail no steam');
    await opened.expectAccessible();
    await question.fill('/call look {}');
    await dialog.getByLabel('Temperature').fill('0.5');
    await dialog.getByRole('button', { name: 'Run again and compare' }).click();
    await page.waitForURL(`**/runs/compare?a=${failedRun}&b=*`);
    const differences = list(page, 'Differences');
    await differences.getByRole('row', { name: /Status failed completed differs/ }).waitFor();
    await differences.getByRole('row', { name: /Temperature – 0.5 differs/ }).waitFor();
    await differences.getByRole('row', { name: /Tool calls 2 1 −1 \(−50%\)/ }).waitFor();
    const steps = page.getByRole('list', { name: 'Steps' });
    await steps.getByText('the same calls').first().waitFor();
    await steps.getByText('other calls').waitFor();
    await list(page, 'Second run').getByText('look').first().waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await page.getByRole('button', { name: 'Swap' }).click();
    await differences.getByRole('row', { name: /Status completed failed differs/ }).waitFor();
    await page.getByRole('button', { name: 'Compare with another run' }).click();
    await list(page, 'Other runs of the agent').getByRole('button', { name: 'Compare' }).first().waitFor();
    await opened.expectAccessible();
    await opened.expectToFit(360);
    expect(opened.problems).toEqual([]);
    // The thread of the first run is as it was.
    expect(await thread.messages()).toHaveLength(4);
    await page.getByLabel('ID of a run').fill(failedRun);
    await page.getByRole('button', { name: 'Compare with this run' }).click();
    await page.waitForURL((url) => url.searchParams.get('b') === failedRun);
    await differences.getByRole('row', { name: /Status completed failed differs/ }).waitFor();
  });
});
