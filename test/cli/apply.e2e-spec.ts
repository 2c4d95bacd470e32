import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { Signalbox, type ToolOutput } from '../../packages/client/src/index.js';
import { CliFixture, type CommandResult } from './cli.support.js';

type WebhookItem = ToolOutput<'WEBHOOK_LIST'>['items'][number];

const MANIFEST = `
connections:
  search:
    url: https://search.example.com/mcp
    token: \${SEARCH_TOKEN}
  tickets:
    url: https://tickets.example.com/mcp
    headers:
      X-Team: support
agents:
  Helper:
    slug: helping-hand
    instructions: Be brief.
    tier: smart
    tool_mode: search
    pinned_tools: [find_ticket]
    output_schema:
      type: object
      properties:
        reply: { type: string }
    webhook_output: true
    connections:
      - search
      - connection: tickets
        tools:
          - find_ticket
          - tool: find
            name: find_mine
            arguments: { fixed: { /owner: me }, hidden: [/limit] }
        prefix: t
        approval: destructive
roles:
  support:
    permissions:
      self: [RUN_GET]
      search: ['*']
schedules:
  Nightly:
    agent: Helper
    cron: 0 3 * * *
    message: Good night
webhooks:
  https://hooks.example.com/failed:
    events: [run.failed, approval.requested]
    agents: [Helper]
  billing:
    url: \${BILLING_HOOK}
    events: [run.completed]
`;
const ENV = { SEARCH_TOKEN: 'token-of-search', BILLING_HOOK: 'https://billing.example.com/?token=token-of-billing' };

let cli: CliFixture;
let signalbox: Signalbox;

beforeAll(async () => {
  cli = await CliFixture.start();
  signalbox = new Signalbox(cli);
}, 120_000);
afterAll(() => cli?.close());

function apply(manifest: string, args = ['--yes'], env: Record<string, string> = ENV): Promise<CommandResult> {
  return cli.apply(manifest, args, env);
}

async function webhookAt(url: string): Promise<WebhookItem | undefined> {
  return (await signalbox.tool('WEBHOOK_LIST', {})).items.find((webhook) => webhook.url === url);
}

describe('signalbox apply', () => {
  it('shows the plan, and changes nothing, until it is confirmed', async () => {
    const plan = await apply(MANIFEST, ['--plan']);
    expect(plan).toMatchObject({ code: 2, errors: '' });
    expect(plan.output).toBe(
      [
        '+ connections.search',
        '+ connections.tickets',
        '+ agents.Helper',
        '+ roles.support',
        '+ schedules.Nightly',
        '+ webhooks.https://hooks.example.com/failed',
        '+ webhooks.billing',
        '7 to create, 0 to update, 0 to delete.',
        '',
      ].join('\n'),
    );
    expect(await apply(MANIFEST, [])).toMatchObject({ code: 1, errors: expect.stringContaining('--yes is needed') });
    expect((await signalbox.tool('COLLECTION_CONNECTIONS_LIST', {})).items).toEqual([]);
  });

  it('creates what is missing, and a second time changes nothing', async () => {
    const applied = await apply(MANIFEST);
    expect(applied).toMatchObject({ code: 0, errors: '' });
    expect(applied.output).not.toContain('token-of-billing');
    const { items: agents } = await signalbox.tool('COLLECTION_VIRTUAL_MCP_LIST', {});
    expect(agents).toMatchObject([
      {
        title: 'Helper',
        tier: 'smart',
        tool_mode: 'search',
        pinned_tools: ['find_ticket'],
        connections: [
          { selected_tools: null },
          {
            selected_tools: [
              'find_ticket',
              { tool: 'find', name: 'find_mine', arguments: { fixed: { '/owner': 'me' }, hidden: ['/limit'] } },
            ],
            prefix: 't',
            approval: 'destructive',
          },
        ],
      },
    ]);
    const { items: roles } = await signalbox.tool('ROLE_LIST', {});
    expect(roles.find(({ name }) => name === 'support')?.permissions).toEqual({
      self: ['RUN_GET'],
      [agents[0]?.connections[0]?.connection_id ?? '']: ['*'],
    });
    expect((await signalbox.tool('SCHEDULE_LIST', {})).items).toMatchObject([
      { title: 'Nightly', virtual_mcp_id: agents[0]?.id, timezone: 'UTC', enabled: true },
    ]);
    const failed = { events: ['run.failed', 'approval.requested'], agent_ids: [agents[0]?.id], enabled: true };
    expect(await webhookAt('https://hooks.example.com/failed')).toMatchObject(failed);
    const billing = { events: ['run.completed'], agent_ids: null, enabled: true };
    expect(await webhookAt(ENV.BILLING_HOOK)).toMatchObject(billing);
    // Each has a secret of its own, which only this output contains.
    const secrets = applied.output.match(/whsec_[A-Za-z0-9+/=]+/g) ?? [];
    expect(new Set(secrets).size).toBe(2);
    expect(await apply(MANIFEST)).toEqual({ code: 0, output: 'Nothing to change.\n', errors: '' });
  });

  it('updates what differs, secrets included, and shows no value', async () => {
    const changed = MANIFEST.replace('Be brief.', 'Be kind.')
      .replace('prefix: t', 'prefix: tickets')
      .replace('    agents: [Helper]', '    agents: null\n    enabled: false');
    const before = await webhookAt('https://hooks.example.com/failed');
    const { code, output } = await apply(changed, ['--yes'], { ...ENV, SEARCH_TOKEN: 'another-token' });
    expect(code).toBe(0);
    expect(output).toBe(
      [
        '~ connections.search',
        '~ agents.Helper: instructions, connections',
        '~ webhooks.https://hooks.example.com/failed: agents, enabled',
        '0 to create, 3 to update, 0 to delete.',
        'Done.',
        '',
      ].join('\n'),
    );
    expect(await webhookAt('https://hooks.example.com/failed')).toMatchObject({
      id: before?.id,
      agent_ids: null,
      enabled: false,
    });
  });

  it('sets, changes and removes the spending limit of an agent', async () => {
    const limitOf = async () => (await signalbox.tool('COLLECTION_VIRTUAL_MCP_LIST', {})).items[0]?.spend;
    const withSpend = (spend: string): string =>
      MANIFEST.replace('    tier: smart', `    tier: smart\n    spend: ${spend}`);
    await apply(withSpend('{ usd_per_day: 5, usd_per_month: 50 }'));
    expect(await limitOf()).toEqual({ usd_per_day: 5, usd_per_month: 50 });
    await apply(withSpend('{ usd_per_month: 40 }'));
    expect(await limitOf()).toEqual({ usd_per_month: 40 });
    expect((await apply(withSpend('{ usd_per_month: 40 }'))).output).toBe('Nothing to change.\n');
    await apply(withSpend('null'));
    expect(await limitOf()).toBeNull();
  });

  it('makes the callers of a connection share its state, and separates them again', async () => {
    const tickets = 'url: https://tickets.example.com/mcp\n    headers: { X-Team: support }';
    for (const shared_state of [true, false]) {
      const line = shared_state ? '\n    shared_state: true' : '';
      const { output } = await apply(`connections:\n  tickets:\n    ${tickets}${line}\n`);
      expect(output).toContain('~ connections.tickets\n');
      const { items } = await signalbox.tool('COLLECTION_CONNECTIONS_LIST', {});
      expect(items.find(({ import_name }) => import_name === 'tickets')).toMatchObject({ shared_state });
    }
  });

  it('deletes only what --prune may delete', async () => {
    await signalbox.tool('COLLECTION_CONNECTIONS_CREATE', {
      data: { title: 'By hand', connection_type: 'HTTP', connection_url: 'https://hand.example.com/mcp' },
    });
    const less =
      'connections:\n  tickets:\n    url: https://tickets.example.com/mcp\n    headers: { X-Team: support }\nagents:\n' +
      'webhooks:\n  invoices: { url: "${BILLING_HOOK}", events: [run.completed] }\n';
    expect((await apply(less, ['--plan'])).output).toBe('Nothing to change.\n');
    const pruned = await apply(less, ['--prune', '--yes']);
    expect(pruned).toMatchObject({ code: 0, errors: '' });
    expect(pruned.output).toBe(
      [
        '- webhooks.https://hooks.example.com/failed',
        '- agents.Helper',
        '- connections.search',
        '0 to create, 0 to update, 3 to delete.',
        'Done.',
        '',
      ].join('\n'),
    );
    const { items } = await signalbox.tool('COLLECTION_CONNECTIONS_LIST', {});
    expect(items.map(({ title }) => title).sort()).toEqual(['By hand', 'tickets']);
  });

  it('exports what it can apply again', async () => {
    await apply(MANIFEST);
    const exported = await cli.output('export');
    expect(exported).not.toContain('token-of-search');
    expect(parse(exported)).toMatchObject({
      connections: { search: { url: 'https://search.example.com/mcp', token: '${SEARCH_TOKEN}' } },
      agents: {
        Helper: {
          instructions: 'Be brief.',
          tool_mode: 'search',
          pinned_tools: ['find_ticket'],
          connections: [{ connection: 'search' }, { connection: 'tickets', prefix: 't' }],
        },
      },
      roles: { support: { permissions: { search: ['*'] } } },
      schedules: { Nightly: { agent: 'Helper', cron: '0 3 * * *' } },
      webhooks: {
        'https://hooks.example.com/failed': { events: ['run.failed', 'approval.requested'], agents: ['Helper'] },
        [ENV.BILLING_HOOK]: { events: ['run.completed'], enabled: true },
      },
    });
    expect(exported).not.toContain('whsec_');
    const env = { ...ENV, TICKETS_X_TEAM: 'support' };
    expect(await apply(exported, ['--yes'], env)).toEqual({ code: 0, output: 'Nothing to change.\n', errors: '' });
  });

  it('pins the tools of a connection, exports the pin, and keeps one that the file does not name', async () => {
    const url = 'http://127.0.0.1:9/mcp';
    const applyPin = async (entry: object): Promise<string> =>
      (await apply(stringify({ connections: { pinned: { url, ...entry } } }))).output;
    const stored = async (): Promise<string | undefined> => {
      const { items } = await signalbox.tool('COLLECTION_CONNECTIONS_LIST', {});
      return items.find(({ import_name }) => import_name === 'pinned')?.pin;
    };
    expect(await applyPin({ pin: 'warn' })).toContain('+ connections.pinned\n');
    expect(await stored()).toBe('warn');
    expect(await applyPin({ pin: 'block' })).toContain('~ connections.pinned\n');
    expect(await stored()).toBe('block');
    expect(await applyPin({})).toBe('Nothing to change.\n');
    const exported = async (): Promise<object> => parse(await cli.output('export')).connections.pinned;
    expect(await exported()).toEqual({ url, pin: 'block' });
    expect(await applyPin(await exported())).toBe('Nothing to change.\n');
    expect(await applyPin({ pin: 'off' })).toContain('~ connections.pinned\n');
    expect(await exported()).toEqual({ url });
  });

  it('knows the order of the properties of an output schema', async () => {
    const withSchema = (properties: object): Promise<CommandResult> =>
      apply(stringify({ agents: { Shaped: { output_schema: { type: 'object', properties } } } }));
    expect((await withSchema({ a: {}, b: {} })).output).toContain('+ agents.Shaped\n');
    expect((await withSchema({ b: {}, a: {} })).output).toContain('~ agents.Shaped: output_schema\n');
    expect((await withSchema({ b: {}, a: {} })).output).toBe('Nothing to change.\n');
  });

  it('knows agents with one title by their ids, also one that lacks a connection', async () => {
    const create = { title: 'Pinned', connection_type: 'HTTP', connection_url: 'http://127.0.0.1:9/mcp' } as const;
    const { item: dead } = await signalbox.tool('COLLECTION_CONNECTIONS_CREATE', { data: create });
    const twins = await Promise.all(
      ['one', 'two'].map(async (instructions) => {
        const data = { title: 'Twin', instructions, connections: [{ connection_id: dead.id }] };
        return (await signalbox.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data })).item;
      }),
    );
    const [one] = twins;
    await signalbox.tool('CONNECTION_TEST', { id: one?.id ?? '' });
    const { item } = await signalbox.tool('COLLECTION_VIRTUAL_MCP_GET', { id: one?.id ?? '' });
    expect(item).toMatchObject({ status: 'error' });
    const { agents } = parse(await cli.output('export'));
    for (const { id, instructions } of twins) expect(agents[id]).toMatchObject({ instructions, status: 'active' });
    expect(await apply(stringify({ agents }))).toMatchObject({ code: 0, output: 'Nothing to change.\n' });
    const named = await apply('agents: { Twin: { instructions: three } }\n');
    expect(named).toMatchObject({ code: 1, errors: expect.stringContaining('several agents have this title') });
    for (const { id } of twins) {
      await signalbox.tool('COLLECTION_VIRTUAL_MCP_DELETE', { id });
      // The other one has its title for itself.
      const named = await apply(stringify({ agents }));
      expect(named).toMatchObject({ code: 1, errors: expect.stringContaining('Use the title.') });
    }
  });
});

describe('signalbox apply refuses before it changes anything', () => {
  let before: string;
  beforeAll(async () => {
    before = await cli.output('export');
  });

  it.each([
    [
      'a variable that is not set',
      MANIFEST,
      {},
      'connections.search.token: the environment variable SEARCH_TOKEN is not set.',
    ],
    ['an unknown section', 'agent:\n  A: {}\n', ENV, 'agent is no section.'],
    ['an unknown property', 'agents:\n  A: { instruction: x }\n', ENV, 'agents.A.instruction is no property.'],
    ['a list instead of a map', 'agents: [A]\n', ENV, 'agents must be a map.'],
    [
      'a connection that is not there',
      'agents:\n  A: { connections: [nowhere] }\n',
      ENV,
      'agents.A: there is no connection "nowhere".',
    ],
    ['a schedule without an agent', 'schedules:\n  S: { cron: 0 3 * * * }\n', ENV, 'schedules.S.agent must be'],
    ['a refused connection', 'connections:\n  bad: { url: "ftp://x" }\n', ENV, 'connections.bad: '],
    ['a webhook without an address', 'webhooks:\n  W: { events: [run.failed] }\n', ENV, 'webhooks.W: the name must be'],
    [
      'two webhooks with one address',
      'webhooks:\n  https://x.example.com: {}\n  W: { url: "https://x.example.com/" }\n',
      ENV,
      'webhooks.W and webhooks.https://x.example.com have the same address.',
    ],
    [
      'a webhook of an agent that is not there',
      'webhooks:\n  https://x.example.com: { events: [run.failed], agents: [nobody] }\n',
      ENV,
      'there is no agent "nobody".',
    ],
    ['broken YAML', 'agents: {\n', ENV, 'signalbox.yaml: '],
  ])('%s', async (_what, manifest, env: Record<string, string>, complaint) => {
    const { code, errors } = await apply(manifest, ['--yes'], env);
    expect(code).toBe(1);
    expect(errors).toContain(complaint);
  });

  it('and has changed nothing', async () => {
    expect(await cli.output('export')).toBe(before);
  });
});
