import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { createAskingAgent, startUpstream } from '../runtime/approvals/approvals.support.js';
import { connect, succeed } from '../support/agent-runs.js';
import { inBrowser, connectChromium } from '../support/chromium.js';
import { freePort } from '../support/free-port.js';
import { eventually } from '../support/eventually.js';
import type { Program } from '../support/program.js';
import { startTestService, type TestService } from '../support/service.js';
import { npm, startNpm, stopNpm } from './npm.js';
import type { McpUpstream } from '../../src/boot/testing/mcp-upstream.js';
import type { ThreadItem } from '../../src/runtime/threads/thread.dto.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/next-chat', import.meta.url));
/** Covers the installation of Next.js and its build. */
const START_MS = 900_000;
/** Covers the compilation of the page at the first visit to `npm run dev`. */
const COMPILE_MS = 120_000;
const NO_TELEMETRY = { NEXT_TELEMETRY_DISABLED: '1' };
const PERMISSIONS = [
  'COLLECTION_THREADS_CREATE',
  'COLLECTION_THREADS_GET',
  'COLLECTION_THREAD_MESSAGES_LIST',
  'THREAD_TOKEN_CREATE',
  'RUN_APPROVE',
];

jest.setTimeout(2 * COMPILE_MS);

inBrowser('the page of examples/next-chat', () => {
  let folder: string;
  let app: TestService;
  let upstream: McpUpstream;
  /** What the calls of the tool `hold` wait for. */
  let held: PromiseWithResolvers<string>;
  const servers: Program[] = [];
  let browser: Browser;
  let origin: string;
  /** Where `npm run dev` serves the page, as the README says. */
  let devOrigin: string;
  let key: string;
  let page: Page;
  /** What the browser has sent and received: headers and bodies. */
  let seen: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'signalbox-next-chat-'));
    const isSource = (path: string): boolean =>
      !['node_modules', '.next', 'package-lock.json'].includes(basename(path));
    await cp(EXAMPLE, folder, { recursive: true, filter: isSource });
    const [port, devPort] = [await freePort(), await freePort()];
    origin = `http://127.0.0.1:${port}`;
    devOrigin = `http://localhost:${devPort}`;
    const env = { ALLOWED_ORIGINS: `${origin},${devOrigin}` };
    [app, upstream] = await Promise.all([startTestService({ env }), startUpstream()]);
    upstream.tools['hold'] = { handler: () => held.promise };
    const agentId = await createAskingAgent(app, await connect(app, upstream.url), ['send']);
    const created = { name: 'web-chat', permissions: { self: PERMISSIONS } };
    ({ key } = await succeed<{ key: string }>(app, 'API_KEY_CREATE', created));
    await npm(folder, ['install', '--prefer-offline', '--no-audit', '--no-fund']);
    await npm(folder, ['run', 'build'], NO_TELEMETRY);
    const settings = {
      ...NO_TELEMETRY,
      SIGNALBOX_URL: app.url,
      SIGNALBOX_API_KEY: key,
      SIGNALBOX_AGENT_ID: agentId,
    };
    servers.push(
      startNpm(folder, ['start', '--', '--port', String(port)], settings),
      startNpm(folder, ['run', 'dev', '--', '--port', String(devPort)], settings),
    );
    for (const each of [origin, devOrigin]) await eventually(() => isServed(each), START_MS);
    browser = await connectChromium();
    page = await newPage();
  }, START_MS);

  afterAll(async () => {
    await browser?.close();
    await Promise.all(servers.map(stopNpm));
    await app?.close();
    await upstream?.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const isServed = (address: string): Promise<boolean> =>
    fetch(address).then(
      ({ ok }) => ok,
      () => false,
    );

  async function newPage(at = origin): Promise<Page> {
    const opened = await (await browser.newContext()).newPage();
    opened.setDefaultTimeout(COMPILE_MS);
    seen = [];
    opened.on('request', (request) => seen.push(JSON.stringify(request.headers()), request.postData() ?? ''));
    opened.on('response', (response) => {
      if (response.url() === `${at}/api/session`) void response.text().then((text) => seen.push(text));
    });
    await opened.goto(at);
    await opened.getByLabel('Message').waitFor();
    return opened;
  }

  const send = async (text: string): Promise<void> => {
    const questions = page.locator('article[data-role=user]');
    const before = await questions.count();
    await page.getByLabel('Message').fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
    await questions.nth(before).waitFor();
  };
  const texts = () => page.locator('article').allInnerTexts();
  const lastText = async () => (await texts()).at(-1) ?? '';
  const hasStatus = (status: string) =>
    eventually(async () => expect(await page.getByRole('status').innerText()).toBe(status));
  const isReady = () => hasStatus('ready');
  const shows = (text: string) => eventually(async () => expect(await lastText()).toContain(text));
  const threads = async () =>
    (
      await succeed<{ items: ThreadItem[] }>(app, 'COLLECTION_THREADS_LIST', {
        orderBy: [{ field: ['created_at'], direction: 'desc' }],
      })
    ).items;

  it('shows an answer as it is streamed, and has it after a reload', async () => {
    held = Promise.withResolvers();
    await send('/words 5\n/call hold {}\n/words 6');
    await shows('word5');
    expect(await lastText()).not.toContain('word6');
    held.resolve('done');
    await shows('word6');
    await isReady();
    await send('hello there');
    await shows('You said: hello there');
    await isReady();
    const before = await texts();
    expect(before).toHaveLength(4);
    await page.reload();
    await eventually(async () => expect(await texts()).toHaveLength(4));
    expect(await texts()).toEqual(before);
  });

  it('goes on with an answer when it is reloaded in the middle', async () => {
    const count = (await texts()).length;
    held = Promise.withResolvers();
    await send('/words 20\n/call hold {}\n/words 30');
    await shows('word20');
    await page.reload();
    await shows('word20');
    await hasStatus('streaming');
    held.resolve('done');
    await shows('word30');
    await isReady();
    expect(await texts()).toHaveLength(count + 2);
    expect((await lastText()).match(/word7 /g)).toHaveLength(2);
  });

  it('cancels the run when it is stopped', async () => {
    await send('/words 3\n/wait 600000');
    await shows('word3');
    await page.getByRole('button', { name: 'Stop' }).click();
    await isReady();
    await eventually(async () => expect((await threads())[0]?.last_run?.status).toBe('cancelled'));
  });

  it('regenerates the last answer', async () => {
    await send('/random 6');
    await isReady();
    const [count, before] = [(await texts()).length, await lastText()];
    await page.getByRole('button', { name: 'Regenerate' }).click();
    await eventually(async () => ![before, ''].includes(await lastText()));
    await isReady();
    expect(await texts()).toHaveLength(count);
  });

  it.each([
    ['Approve', 'output-available', 1],
    ['Deny', 'output-denied', 0],
  ])('lets its visitor %s a tool call, also after a reload', async (button, state, calls) => {
    upstream.calls.length = 0;
    await send('/call send {}');
    await page.getByRole('button', { name: button }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: button }).waitFor();
    // Until it reads the run that waits, the page says that it is ready.
    await eventually(async () => expect(await page.getByRole('status').innerText()).not.toBe('ready'));
    await page.getByRole('button', { name: button }).click();
    await isReady();
    expect(await page.locator('article').last().locator('section').getAttribute('data-state')).toBe(state);
    expect(upstream.calls).toHaveLength(calls);
    const before = await texts();
    await page.reload();
    await eventually(async () => expect(await texts()).toHaveLength(before.length));
    expect(await texts()).toEqual(before);
  });

  it('never has the API key in the browser', () => {
    expect(seen.join('\n')).toContain('Bearer sbt_');
    expect(seen.join('\n')).not.toContain(key);
  });

  it('answers first visits while it is developed, each in one thread', async () => {
    for (const text of ['first', 'second', 'third']) {
      const before = (await threads()).length;
      page = await newPage(devOrigin);
      await send(`hello from the ${text}`);
      await shows(`You said: hello from the ${text}`);
      await isReady();
      expect(await page.locator('p[role=alert]').count()).toBe(0);
      expect(await threads()).toHaveLength(before + 1);
      await page.context().close();
    }
  });

  it('gives another visitor another thread', async () => {
    const before = (await threads()).length;
    page = await newPage();
    expect(await texts()).toEqual([]);
    expect(await threads()).toHaveLength(before + 1);
  });
});
