import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { createAgent, LONG, ThreadClient } from '../support/agent-runs.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { eventually } from '../support/eventually.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const TIMEOUT_MS = 120_000;

let fixture: ConsoleFixture;
let opened: ConsolePage;

beforeAll(async () => {
  if (hasChromium) fixture = await ConsoleFixture.start(newTenant);
}, TIMEOUT_MS);
afterEach(() => opened?.close());
afterAll(() => fixture?.close());

inBrowser('the playground, while a run goes on', () => {
  it(
    'adds a message to the run, or interrupts it, and shows where the answer heard it',
    async () => {
      const thread = await ThreadClient.create(fixture.service, await createAgent(fixture.service));
      const taskId = await thread.postMessage(`/words 3\n${LONG}`);
      opened = await fixture.open(`playground/${thread.id}`);
      const { page } = opened;
      const answer = page.getByRole('article', { name: 'Agent' });
      await answer.getByText('word3').waitFor();
      await opened.expectToFit(360);
      const viewport = page.viewportSize();
      await page.setViewportSize({ width: 360, height: 740 });
      await page.getByText('The agent reads your message before its next step.').waitFor();
      if (viewport !== null) await page.setViewportSize(viewport);

      await page.getByLabel('Message', { exact: true }).fill('One more thing');
      await opened.sendWithEnter();
      await page.getByText('Waits for the end of the current step: One more thing').waitFor();
      await page.getByLabel('Message', { exact: true }).fill('The other one');
      await page.getByRole('button', { name: 'Interrupt and send' }).click();
      await answer.getByText('You said: The other one').waitFor();
      const heard = answer.getByRole('region', { name: 'You' });
      expect(await heard.allInnerTexts()).toEqual([
        expect.stringContaining('One more thing'),
        expect.stringMatching(/interrupted[^]*The other one/),
      ]);
      expect(await page.getByText('Waits for the end').count()).toBe(0);
      expect(await thread.waitFor(taskId, 'completed')).toMatchObject({ steps: 2 });

      await page.reload();
      await answer.getByText('You said: The other one').waitFor();
      expect(await heard.count()).toBe(2);
      expect(await page.getByRole('list', { name: 'Conversation' }).getByRole('article').count()).toBe(2);
    },
    TIMEOUT_MS,
  );

  /** Sends a message to a run, stops the run, and expects the run of the message, as each route to it is held back. */
  async function expectRunAfterStop(
    holdBack: (page: ConsolePage['page'], thread: ThreadClient, taskId: string) => Promise<void>,
  ): Promise<void> {
    const thread = await ThreadClient.create(fixture.service, await createAgent(fixture.service));
    const taskId = await thread.postMessage(`/words 3\n${LONG}`);
    opened = await fixture.open(`playground/${thread.id}`);
    const { page } = opened;
    await page.getByText('word3').waitFor();
    await holdBack(page, thread, taskId);
    await page.getByLabel('Message', { exact: true }).fill('Later then');
    await opened.sendWithEnter();
    await page.getByText('Waits for the end of the current step: Later then').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('You said: Later then', { exact: true }).waitFor();
    const conversation = page.getByRole('list', { name: 'Conversation' }).getByRole('article');
    await eventually(async () =>
      expect(await conversation.allInnerTexts()).toEqual([
        expect.stringContaining('/words 3'),
        expect.stringContaining('Stopped before the answer was complete.'),
        expect.stringContaining('Later then'),
        expect.stringContaining('You said: Later then'),
      ]),
    );
  }

  it(
    'follows the run of a message that the stopped run has not taken',
    () => expectRunAfterStop(async () => {}),
    TIMEOUT_MS,
  );

  it(
    'follows the run of a message that arrives after the run was stopped',
    () =>
      expectRunAfterStop(async (page, thread, taskId) => {
        await page.route('**/steer*', async (route) => {
          await thread.waitFor(taskId, 'cancelled');
          await route.continue();
        });
      }),
    TIMEOUT_MS,
  );

  it(
    'shows the answer of a run that has ended before its stream was read',
    () =>
      expectRunAfterStop(async (page, thread) => {
        await page.route('**/stream*', async (route) => {
          await eventually(async () => expect(await thread.status()).toBe('completed'));
          await route.continue();
        });
      }),
    TIMEOUT_MS,
  );
});
