import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { McpUpstream } from '../../src/boot/testing/mcp-upstream.js';
import { createAskingAgent, startUpstream } from '../runtime/approvals/approvals.support.js';
import { connect, succeed, ThreadClient } from '../support/agent-runs.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { eventually } from '../support/eventually.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const TIMEOUT_MS = 240_000;
/** Six connections to a host are all that a browser opens over HTTP/1.1. */
const TABS = 10;
const RUNS = TABS / 2;

let fixture: ConsoleFixture<TestApp>;
let upstream: McpUpstream;
let agentId: string;
let opened: ConsolePage;
/** The paths of the requests that the service is answering. */
const open = new Set<{ readonly path: string }>();

beforeAll(async () => {
  if (!hasChromium) return;
  [fixture, upstream] = await Promise.all([ConsoleFixture.start(startTestApp, 'chromium'), startUpstream()]);
  agentId = await createAskingAgent(fixture.service, await connect(fixture.service, upstream.url), 'all');
  const server = fixture.service.app.getHttpServer() as Server;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const entry = { path: request.url ?? '' };
    open.add(entry);
    response.on('close', () => open.delete(entry));
  });
}, TIMEOUT_MS);
afterAll(async () => {
  await opened?.close();
  await fixture?.close();
  await upstream?.close();
});

const openStreams = (part: string): number => [...open].filter(({ path }) => path.includes(part)).length;
const createThread = (title: string) =>
  succeed(fixture.service, 'COLLECTION_THREADS_CREATE', { data: { title, virtual_mcp_id: agentId } });

/** A thread whose run waits for an approval. Returns its id. */
async function askForApproval(): Promise<string> {
  const thread = await ThreadClient.create(fixture.service, agentId);
  await thread.waitFor(await thread.postMessage('/call send {}'), 'waiting');
  return thread.id;
}

inBrowser('ten tabs of the console', () => {
  it(
    'share one stream of changes, so that an approval in any of them is not delayed',
    async () => {
      const threadIds: string[] = [];
      while (threadIds.length < RUNS) {
        threadIds.push(await askForApproval());
      }
      opened = await fixture.open(`playground/${threadIds[0]}`);
      const tabs: Page[] = [opened.page];
      while (tabs.length < TABS) {
        const tab = await opened.page.context().newPage();
        const thread = threadIds[tabs.length];
        await tab.goto(fixture.address(thread === undefined ? 'threads' : `playground/${thread}`));
        await tab.getByRole('heading', { level: 1 }).waitFor();
        tabs.push(tab);
      }
      for (const tab of tabs.slice(0, RUNS)) await tab.getByRole('button', { name: 'Approve' }).waitFor();
      await eventually(() => expect(openStreams('/events')).toBe(1));
      expect(openStreams('/stream')).toBeLessThanOrEqual(2);

      // Each tab waits for its turn to read its run, and gets it with the click.
      for (const tab of tabs.slice(0, RUNS)) {
        await tab.getByRole('button', { name: 'Approve' }).click();
        await tab.getByText('send returned: send done', { exact: true }).waitFor();
      }
      expect(upstream.calls).toHaveLength(RUNS);

      // Every tab learns of a change, also after the one that reads the stream is closed.
      const lists = tabs.slice(RUNS);
      await createThread('the first');
      for (const tab of lists) await tab.getByRole('link', { name: 'the first' }).waitFor();
      await tabs.at(-1)?.close();
      await eventually(() => expect(openStreams('/events')).toBe(1));
      await createThread('the second');
      for (const tab of lists.slice(0, -1)) await tab.getByRole('link', { name: 'the second' }).waitFor();
      expect(opened.problems).toEqual([]);
      await opened.close();
    },
    TIMEOUT_MS,
  );

  it('close their streams when they are left, and open them when they are shown again', async () => {
    const threadId = await askForApproval();
    opened = await fixture.open(`playground/${threadId}`);
    const { page } = opened;
    // Without a task, a stream is the question whether there is a run to follow.
    const streams = (): number => openStreams('/events') + openStreams('/stream?taskId=');
    await eventually(() => expect(streams()).toBe(2));
    // Playwright switches the back/forward cache off.
    const turn = (event: string) =>
      page.evaluate(`void dispatchEvent(new PageTransitionEvent('${event}', { persisted: true }))`);
    await turn('pagehide');
    await eventually(() => expect(streams()).toBe(0));
    await turn('pageshow');
    await eventually(() => expect(streams()).toBe(2));
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('send returned: send done', { exact: true }).waitFor();
    expect(opened.problems).toEqual([]);
  });
});
