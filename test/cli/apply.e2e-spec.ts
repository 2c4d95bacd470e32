import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { Signalbox } from '../../packages/client/src/index.js';
import { CliFixture, type CommandResult } from './cli.support.js';

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
    instructions: Be brief.
    tier: smart
    connections:
      - search
      - connection: tickets
        tools: [find_ticket]
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
`;
const ENV = { SEARCH_TOKEN: 'token-of-search' };

let cli: CliFixture;
let signalbox: Signalbox;

beforeAll(async () => {
  cli = await CliFixture.start();
  signalbox = new Signalbox(cli);
}, 120_000);
afterAll(() => cli?.close());

async function apply(
  manifest: string,
  args: string[] = ['--yes'],
  env: Record<string, string> = ENV,
): Promise<CommandResult> {
  await writeFile(join(cli.folder, 'signalbox.yaml'), manifest);
  return cli.run(['apply', ...args], { env });
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
        '5 to create, 0 to update, 0 to delete.',
        '',
      ].join('\n'),
    );
    expect(await apply(MANIFEST, [])).toMatchObject({ code: 1, errors: expect.stringContaining('--yes is needed') });
    expect((await signalbox.tool('COLLECTION_CONNECTIONS_LIST', {})).items).toEqual([]);
  });

  it('creates what is missing, and a second time changes nothing', async () => {
    expect(await apply(MANIFEST)).toMatchObject({ code: 0, errors: '' });
    const { items: agents } = await signalbox.tool('COLLECTION_VIRTUAL_MCP_LIST', {});
    expect(agents).toMatchObject([
      {
        title: 'Helper',
        tier: 'smart',
        connections: [
          { selected_tools: null },
          { selected_tools: ['find_ticket'], prefix: 't', approval: 'destructive' },
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
    expect(await apply(MANIFEST)).toEqual({ code: 0, output: 'Nothing to change.\n', errors: '' });
  });

  it('updates what differs, secrets included, and shows no value', async () => {
    const changed = MANIFEST.replace('Be brief.', 'Be kind.').replace('prefix: t', 'prefix: tickets');
    const { code, output } = await apply(changed, ['--yes'], { SEARCH_TOKEN: 'another-token' });
    expect(code).toBe(0);
    expect(output).toBe(
      [
        '~ connections.search',
        '~ agents.Helper: instructions, connections',
        '0 to create, 2 to update, 0 to delete.',
        'Done.',
        '',
      ].join('\n'),
    );
  });

  it('deletes only what --prune may delete', async () => {
    await signalbox.tool('COLLECTION_CONNECTIONS_CREATE', {
      data: { title: 'By hand', connection_type: 'HTTP', connection_url: 'https://hand.example.com/mcp' },
    });
    const less =
      'connections:\n  tickets:\n    url: https://tickets.example.com/mcp\n    headers: { X-Team: support }\nagents:\n';
    expect((await apply(less, ['--plan'])).output).toBe('Nothing to change.\n');
    const pruned = await apply(less, ['--prune', '--yes']);
    expect(pruned).toMatchObject({ code: 0, errors: '' });
    expect(pruned.output).toBe(
      ['- agents.Helper', '- connections.search', '0 to create, 0 to update, 2 to delete.', 'Done.', ''].join('\n'),
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
          connections: [{ connection: 'search' }, { connection: 'tickets', prefix: 't' }],
        },
      },
      roles: { support: { permissions: { search: ['*'] } } },
      schedules: { Nightly: { agent: 'Helper', cron: '0 3 * * *' } },
    });
    const env = { ...ENV, TICKETS_X_TEAM: 'support' };
    expect(await apply(exported, ['--yes'], env)).toEqual({ code: 0, output: 'Nothing to change.\n', errors: '' });
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
    ['broken YAML', 'agents: {\n', ENV, 'signalbox.yaml: '],
  ])('refuses %s before it changes anything', async (_what, manifest, env: Record<string, string>, complaint) => {
    const before = await cli.output('export');
    const { code, errors } = await apply(manifest, ['--yes'], env);
    expect(code).toBe(1);
    expect(errors).toContain(complaint);
    expect(await cli.output('export')).toBe(before);
  });
});
