import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { png, uploaded } from '../runtime/files/files.support.js';
import { connect, createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { hasChromium, inBrowser } from '../support/chromium.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture, type ConsolePage } from './console-fixture.js';

const TIMEOUT_MS = 120_000;
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
    'threads',
    'threads/{thread}',
    'runs',
    'runs/{run}',
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
  ])('is usable from 360 px to 4K with long names: %s', async (view) => {
    const { page } = opened;
    await page.goto(fixture.address(view.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? name)));
    await opened.settled();
    await opened.expectToFit(360);
    await opened.expectToFit(3840, 2160);
    expect(opened.problems).toEqual([]);
  });
});
