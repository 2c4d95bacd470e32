import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { png, uploaded } from '../runtime/files/files.support.js';
import { connect, createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';
import { picture, PICTURES } from './pictures.js';

const TIMEOUT_MS = 120_000;
const PHONE = { width: 390, height: 844 };
/** With `PICTURES`, each view is looked at in both themes on these. */
const SCREENS = [PHONE, { width: 1440, height: 900 }, { width: 2560, height: 1440 }];
/** No line may break in it, and no name of the field is longer. */
const WORD = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';
const PROSE = 'The quick brown fox jumps over the lazy dog, and nobody at the station has ever asked it why. '.repeat(
  5,
);

let fixture: ConsoleFixture;
let upstream: EverythingServer;
let opened: ConsolePage;
const ids: Record<string, string> = {};

/** The id of what a tool created. */
async function create(tool: string, input: object): Promise<string> {
  const answer = await succeed<{ id?: string; item?: { id: string } }>(fixture.service, tool, input);
  return answer.item?.id ?? answer.id ?? '';
}

beforeAll(async () => {
  if (!hasChromium) return;
  [fixture, upstream] = await Promise.all([ConsoleFixture.start(newTenant), startEverything()]);
  const { service } = fixture;
  await succeed(service, 'AUDIT_SETTINGS_UPDATE', { content: true });
  ids['connection'] = await connect(service, upstream.url, WORD);
  await succeed(service, 'CONNECTION_TEST', { id: ids['connection'] });
  const dead = await connect(service, `http://127.0.0.1:9/${WORD.repeat(3)}`, `Dead ${WORD}`);
  await succeed(service, 'CONNECTION_TEST', { id: dead });
  const texts = { title: WORD, description: PROSE, instructions: PROSE };
  ids['agent'] = await createAgent(service, [ids['connection']], texts);
  const thread = await ThreadClient.create(service, ids['agent']);
  ids['thread'] = thread.id;
  await succeed(service, 'COLLECTION_THREADS_UPDATE', {
    id: thread.id,
    data: { title: `${WORD} ${PROSE}`.slice(0, 250), metadata: { customer: WORD } },
  });
  await thread.ask(`${PROSE}\n/call echo ${JSON.stringify({ message: WORD.repeat(5) })}\n`);
  ids['asked'] = (await thread.ask(`/call get-sum {"a":40,"b":2}`)).taskId;
  ids['run'] = (await thread.ask(`${PROSE}${WORD.repeat(3)}\n/fail ${PROSE}`)).taskId;
  ids['key'] = await create('API_KEY_CREATE', { name: WORD.slice(0, 64), permissions: { self: ['*'], '*': ['*'] } });
  await create('ROLE_CREATE', { name: WORD.slice(0, 64), permissions: { self: ['RUN_LIST'] } });
  await create('WEBHOOK_CREATE', { data: { url: `http://127.0.0.1:9/${WORD.repeat(3)}`, events: ['run.failed'] } });
  await create('SCHEDULE_CREATE', {
    data: { title: WORD, virtual_mcp_id: ids['agent'], message: PROSE, cron: '0 9 * * 1-5', timezone: 'Europe/Berlin' },
  });
  await create('AI_PROVIDER_CREATE', {
    data: { title: WORD, kind: 'openai-compatible', base_url: 'http://127.0.0.1:9' },
  });
  await create('OAUTH_CLIENT_CREATE', { name: WORD, redirect_uris: [`https://example.com/${WORD.repeat(3)}`] });
  await succeed(service, 'MEMBER_INVITE', {
    email: `${WORD.slice(0, 60)}@example.com`.replace('ä', 'a'),
    role: 'member',
  });
  const disposition = `attachment; filename*=UTF-8''${encodeURIComponent(`${WORD}.png`)}`;
  await uploaded(service, png(), { disposition });
  opened = await fixture.open('overview');
}, TIMEOUT_MS);
afterAll(async () => {
  await opened?.close();
  await fixture?.close();
  await upstream?.close();
});

inBrowser('every view', () => {
  it.each([
    'overview',
    'playground',
    'playground/{thread}',
    'playground/{thread}?trace={asked}',
    'playground?agent={agent}&thread={thread}&agent2={agent}',
    'threads',
    'threads/{thread}',
    'runs',
    'runs/{run}',
    'runs/{asked}',
    'runs/compare?a={asked}&b={run}',
    'connections',
    'connections?create=http',
    'connections?create=program',
    'connections?create=import',
    'connections/{connection}',
    'connections/{connection}?tab=tools',
    'connections/{connection}?tab=tools&tool=echo',
    'connections/{connection}?tab=resources',
    'connections/{connection}?tab=prompts',
    'connections/{connection}?tab=access',
    'connections/{connection}?tab=settings',
    'agents',
    'agents/new',
    'agents/{agent}',
    'agents/{agent}?tab=use',
    'agents/{agent}?tab=access',
    'agents/{agent}?tab=overview',
    'agents/{agent}?tab=versions',
    'agents/{agent}?tab=runs',
    'keys',
    'keys?create=1',
    'keys?key={key}',
    'access',
    'wall',
    'wall?theme=light',
    'monitoring',
    'monitoring?tab=statistics',
    'monitoring?tab=events',
    'settings/models',
    'settings/members',
    'settings/roles',
    'settings/organization',
    'settings/limits',
    'settings/files',
    'settings/webhooks',
    'settings/schedules',
    'settings/oauth',
  ])(
    'is usable from 360 px to 4K with long names, and accessible in both themes: %s',
    async (view) => {
      const { page } = opened;
      await page.goto(addressOf(view));
      await opened.settled();
      await opened.expectToFit(360);
      await opened.expectToFit(3840, 2160);
      await opened.expectAccessibleInBothThemes();
      expect(opened.problems).toEqual([]);
      if (PICTURES !== undefined) await lookAtEachSize(view);
    },
    TIMEOUT_MS,
  );

  it.each(['agents/{agent}?tab=access', 'connections/{connection}?tab=settings', 'settings/oauth'])(
    'shows on a phone which part is selected: %s',
    async (view) => {
      const { page } = opened;
      await page.setViewportSize(PHONE);
      await page.goto(addressOf(view));
      await opened.settled();
      const selected = page.getByRole('main').locator('[role=tab][aria-selected=true], nav [aria-current=page]');
      const { x, width } = (await selected.boundingBox()) ?? { x: -1, width: 0 };
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x + width).toBeLessThanOrEqual(PHONE.width);
      // It is none of those that are in view anyway.
      const row = selected.locator('xpath=ancestor::*[contains(@class, "scrolling-row")]');
      expect(await row.evaluate((element) => element.scrollLeft)).toBeGreaterThan(0);
      // The page itself does not move sideways.
      expect(await page.evaluate('scrollX')).toBe(0);
      await page.setViewportSize({ width: 1280, height: 800 });
    },
    TIMEOUT_MS,
  );
});

function addressOf(view: string): string {
  return fixture.address(view.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? name));
}

/** Checks the view on each screen in both themes, and stores pictures of it. */
async function lookAtEachSize(view: string): Promise<void> {
  const { page } = opened;
  const name = view.replaceAll(/\W+/g, '-');
  for (const screen of SCREENS) {
    await page.setViewportSize(screen);
    await opened.expectAccessibleInBothThemes();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await picture(page, `${name}-${screen.width}-${colorScheme}`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}
