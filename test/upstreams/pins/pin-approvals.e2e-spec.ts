import { afterEach, describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { pathOf } from '../../support/proxy-calls.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { type Tenant } from '../../support/tenant.js';
import { WebhookReceiver } from '../../support/webhook-receiver.js';
import {
  approve,
  BAD,
  diffOf,
  GOOD,
  type HoldingServer,
  OTHER,
  pin,
  startHoldingServer,
  toolNamed,
} from './pins.support.js';
import { useTenantOfTwo } from '../../support/use-started.js';

/** One organization in two processes. */
const [app, other] = useTenantOfTwo();
let server: HoldingServer;
/** The connection, and its path. */
let id: string;
let path: string;

afterEach(() => server?.close());

async function connect(rule: string, more: object = {}): Promise<void> {
  server = await startHoldingServer();
  server.offered.tools = [GOOD, OTHER];
  id = await connectTo(app, server.url, { pin: rule, ...more });
  path = pathOf(app, id);
}

const names = async (process = app) => (await listThrough(process, path)).names;

async function codeOf(process: Tenant, tool: string): Promise<string | undefined> {
  return (await callThrough(process, path, tool)).rpc.error?.data.code;
}

describe('switching the pin on', () => {
  it('approves what is listed at that moment, also when the connection is created', async () => {
    await connect('block');
    server.offered.tools = [BAD, OTHER];
    expect(await names()).toEqual(['other']);
    await pin(app, id, 'off');
    expect(await names()).toEqual(['echo', 'other']);
    await pin(app, id, 'block');
    expect(await names()).toEqual(['echo', 'other']);
    expect(await diffOf(app, id)).toMatchObject({ pin: 'block', total: 0, items: [], removed: [] });
    server.offered.tools = [GOOD, OTHER];
    expect(await names()).toEqual(['other']);
  });

  it('approves the last known tools of an upstream that cannot be reached, and else its first list', async () => {
    await connect('off');
    expect(await names()).toEqual(['echo', 'other']);
    const { url } = server;
    await succeed(app, 'CONNECTION_TEST', { id });
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { connection_url: 'http://127.0.0.1:9/mcp' } });
    await pin(app, id, 'block');
    server.offered.tools = [BAD, OTHER];
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { connection_url: url } });
    expect(await names()).toEqual(['other']);

    const late = await connectTo(app, 'http://127.0.0.1:9/mcp', { pin: 'block' });
    expect(await diffOf(app, late)).toMatchObject({ listed_at: null, total: 0, error: expect.any(String) });
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: late, data: { connection_url: url } });
    expect((await listThrough(app, pathOf(app, late))).names).toEqual(['echo', 'other']);
  });

  it('to less than it was needs the permission to approve', async () => {
    await connect('block');
    const key = await keyWith(app, { self: ['COLLECTION_CONNECTIONS_UPDATE'] });
    for (const rule of ['warn', 'off']) {
      const { status, body } = await app.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data: { pin: rule } }, key);
      expect({ status, code: body.code }).toEqual({ status: 403, code: 'permission_denied' });
    }
    expect((await app.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data: { pin: 'block' } }, key)).status).toBe(200);
  });

  it.each([['on'], [null], [1]])('refuses %j, and every pin of an agent', async (rule) => {
    await connect('off');
    const refused = await app.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data: { pin: rule } });
    expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 400, code: 'invalid_request' });
    const agent = await app.tool('COLLECTION_CONNECTIONS_UPDATE', {
      id: await agentOf(app, [id]),
      data: { pin: 'warn' },
    });
    expect(agent.status).toBe(400);
  });
});

describe('a connection that warns', () => {
  it('marks changed and new tools in its lists, and calls them', async () => {
    await connect('warn');
    const marked = { ...BAD, _meta: { 'mcp.service': { public_tool: false }, kept: 1 } };
    server.offered.tools = [marked, OTHER, toolNamed('added')];
    const gateway = gatewayPath(app, await agentOf(app, [id]));
    const echo = {
      description: BAD.description,
      _meta: { kept: 1, 'mcp.service': { public_tool: false, pin: 'changed' } },
    };
    const added = { name: 'added', _meta: { 'mcp.service': { pin: 'new' } } };
    expect((await listThrough(app, path)).tools).toMatchObject([echo, OTHER, added]);
    await diffOf(app, id);
    expect((await listThrough(app, gateway)).tools).toMatchObject([added, echo, OTHER]);
    expect(await codeOf(app, 'echo')).toBeUndefined();
    await approve(app, id, 'echo', 'added');
    expect((await listThrough(app, path)).tools).toEqual([marked, OTHER, toolNamed('added')]);
  });
});

describe('CONNECTION_TOOLS_DIFF', () => {
  it('shows what changed, what was renamed, what is new and what has gone', async () => {
    const schema = {
      type: 'object' as const,
      properties: { 'a/b': { type: 'string' }, constructor: { enum: [1, 2] } },
    };
    await connect('block');
    await pin(app, id, 'off');
    server.offered.tools = [GOOD, toolNamed('plain', { inputSchema: schema, description: 'Plain' })];
    await pin(app, id, 'block');
    const bad = { ...schema, properties: { 'a/b': { type: 'number' }, toString: {} } };
    server.offered.tools = [
      { ...GOOD, name: 'echo2' },
      toolNamed('plain', { inputSchema: bad, description: 'Plain' }),
      OTHER,
    ];
    expect(await diffOf(app, id)).toEqual({
      pin: 'block',
      listed_at: expect.any(String),
      total: 3,
      items: [
        {
          name: 'echo2',
          status: 'new',
          fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
          renamed_from: 'echo',
          changes: [{ op: 'replace', path: '/name', before: 'echo', after: 'echo2' }],
          definition: { ...GOOD, name: 'echo2' },
        },
        {
          name: 'plain',
          status: 'changed',
          fingerprint: expect.any(String),
          renamed_from: null,
          changes: [
            { op: 'replace', path: '/inputSchema/properties/a~1b/type', before: 'string', after: 'number' },
            { op: 'remove', path: '/inputSchema/properties/constructor', before: { enum: [1, 2] } },
            { op: 'add', path: '/inputSchema/properties/toString', after: {} },
          ],
          definition: expect.any(Object),
        },
        {
          name: 'other',
          status: 'new',
          fingerprint: expect.any(String),
          renamed_from: null,
          changes: [],
          definition: OTHER,
        },
      ],
      removed: ['echo'],
    });
  });

  it.each([
    ['description', { ...GOOD, description: 'Says echo ' }, true],
    ['title', { ...GOOD, title: 'Echo' }, true],
    ['input schema', { ...GOOD, inputSchema: { type: 'object' as const } }, true],
    ['output schema', { ...GOOD, outputSchema: { type: 'object' as const } }, true],
    ['annotations', { ...GOOD, annotations: { readOnlyHint: true } }, true],
    ['_meta', { ...GOOD, _meta: { 'mcp.service': { public_tool: true } } }, true],
    ['description with half a character', { ...GOOD, description: '\ud800' }, true],
    [
      'order of members',
      JSON.parse(
        `{"inputSchema":{"properties":{"text":{"type":"string"}},"type":"object"},"description":"Says echo","name":"echo"}`,
      ),
      false,
    ],
  ])('takes another %s as it is', async (_what, tool: typeof GOOD, isChanged) => {
    await connect('block');
    server.offered.tools = [tool, OTHER];
    expect(await names()).toEqual(isChanged ? ['other'] : ['echo', 'other']);
    expect((await diffOf(app, id)).items.map(({ name }) => name)).toEqual(isChanged ? ['echo'] : []);
    if (isChanged) await approve(app, id, 'echo');
    expect(await names()).toEqual(['echo', 'other']);
  });

  it('knows no connection of another organization, and nothing of a connection that is not pinned', async () => {
    await connect('off');
    expect(await diffOf(app, id)).toEqual({ pin: 'off', listed_at: null, total: 0, items: [], removed: [] });
    const stranger = await startSecondOrganization(app, 'stranger');
    for (const [tool, body] of [
      ['CONNECTION_TOOLS_DIFF', { id }],
      ['CONNECTION_TOOLS_APPROVE', { id, tools: ['echo'] }],
    ] as const) {
      expect((await stranger.tool(tool, body)).status).toBe(404);
    }
  });
});

describe('CONNECTION_TOOLS_APPROVE', () => {
  it('approves the definition that was shown, and no other one', async () => {
    await connect('block');
    server.offered.tools = [BAD, OTHER];
    const [shown] = (await diffOf(app, id)).items;
    const body = { id, tools: ['echo'], fingerprints: [shown?.fingerprint] };
    server.offered.tools = [{ ...BAD, description: 'Worse' }, OTHER];
    const refused = await app.tool('CONNECTION_TOOLS_APPROVE', body);
    expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 409, code: 'conflict' });
    expect(await names()).toEqual(['other']);
    server.offered.tools = [BAD, OTHER];
    // Twice, and at once in both processes.
    const answers = await Promise.all([app, other, app].map((at) => at.tool('CONNECTION_TOOLS_APPROVE', body)));
    for (const answer of answers) expect(answer.body).toEqual({ approved: ['echo'], remaining: 0 });
    expect(await names()).toEqual(['echo', 'other']);
  });

  it('refuses tools that are not listed, connections that are not pinned, rubbish, and callers without the permission', async () => {
    await connect('block');
    const refusals: [object, number, string][] = [
      [{ id, tools: ['nothing'] }, 404, 'unknown_tool'],
      [{ id, tools: [] }, 400, 'invalid_request'],
      [{ id, tools: 'echo' }, 400, 'invalid_request'],
      [{ id, tools: ['echo', 'echo'] }, 400, 'invalid_request'],
      [{ id, tools: ['echo'], fingerprints: ['x'] }, 400, 'invalid_request'],
      [{ id: 'x', tools: ['echo'] }, 400, 'invalid_request'],
    ];
    for (const [body, status, code] of refusals) {
      const answer = await app.tool('CONNECTION_TOOLS_APPROVE', body);
      expect({ body, status: answer.status, code: answer.body.code }).toEqual({ body, status, code });
    }
    const key = await keyWith(app, { self: ['CONNECTION_TOOLS_DIFF'], [id]: ['*'] });
    expect((await app.tool('CONNECTION_TOOLS_APPROVE', { id, tools: ['echo'] }, key)).status).toBe(403);
    await pin(app, id, 'off');
    expect((await app.tool('CONNECTION_TOOLS_APPROVE', { id, tools: ['echo'] })).status).toBe(409);
  });
});

describe('a tool with a name of more than 1 KiB', () => {
  // With the quotation marks.
  const fitting = toolNamed('y'.repeat(1_022));
  const tooLong = toolNamed('x'.repeat(1_023));

  it.each(['warn', 'block'])('is neither offered nor recorded nor approved with %j', async (rule) => {
    await connect('off');
    server.offered.tools = [GOOD, tooLong];
    await pin(app, id, rule);
    const gateway = gatewayPath(app, await agentOf(app, [id]));
    for (const door of [path, gateway]) expect((await listThrough(app, door)).names).toEqual(['echo']);
    server.offered.tools = [GOOD, tooLong, fitting];
    await names();
    expect(await diffOf(app, id)).toMatchObject({ total: 1, items: [{ name: fitting.name }] });
    const refused = await app.tool('CONNECTION_TOOLS_APPROVE', { id, tools: [tooLong.name] });
    expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 404, code: 'unknown_tool' });
    await approve(app, id, fitting.name);
    expect(await names()).toEqual(['echo', fitting.name]);
    expect(await codeOf(app, tooLong.name)).toBe('unknown_tool');
    const recorded = await app.query<{ tool_name: string }>(
      'SELECT tool_name FROM pinned_tools WHERE connection_id = $1 ORDER BY tool_name',
      [id],
    );
    expect(recorded.map(({ tool_name: name }) => JSON.parse(name) as string)).toEqual(['echo', fitting.name]);
  });
});

describe('a call', () => {
  it('that is under way when the definition changes ends as usual; the next one is refused', async () => {
    await connect('block');
    const held = server.holdCall();
    const called = callThrough(app, path, 'echo');
    const answer = await held;
    server.offered.tools = [BAD, OTHER];
    expect(await names(other)).toEqual(['other']);
    await eventually(async () => expect(await codeOf(app, 'echo')).toBe('tool_unapproved'), 2_000);
    answer();
    expect((await called).rpc.result?.content).toEqual([{ type: 'text', text: 'done' }]);
  });

  it('reads a list that is older than 60 s first', async () => {
    await connect('block');
    server.offered.tools = [BAD, OTHER];
    // A process that has not read the list yet takes the time from the database.
    await app.query(`UPDATE connections SET tools_refreshed_at = now() - interval '61 seconds' WHERE id = $1`, [id]);
    expect(await codeOf(other, 'echo')).toBe('tool_unapproved');
    expect(server.calls('tools/call')).toEqual([]);
  });

  it('is refused while a list that is older than 60 s cannot be read', async () => {
    await connect('block');
    await app.query(`UPDATE connections SET tools_refreshed_at = now() - interval '61 seconds' WHERE id = $1`, [id]);
    await server.close();
    expect(await codeOf(other, 'echo')).toBe('upstream_unreachable');
  });
});

describe('tools.changed', () => {
  it('is sent once for each change, however many processes list it at once', async () => {
    await connect('warn');
    const receiver = await WebhookReceiver.start();
    try {
      const data = { url: receiver.url, events: ['tools.changed'] };
      await succeed(app, 'WEBHOOK_CREATE', { data });
      const listAll = () => Promise.all([app, other, app, other].map((process) => names(process)));
      server.offered.tools = [BAD, OTHER, toolNamed('added')];
      await listAll();
      server.offered.tools = [GOOD, OTHER];
      await listAll();
      server.offered.tools = [BAD, OTHER, toolNamed('added')];
      await listAll();
      const [message] = await receiver.messagesOf(id);
      expect(JSON.parse(message?.body ?? '')).toEqual({
        type: 'tools.changed',
        timestamp: expect.any(String),
        data: {
          connection_id: id,
          pin: 'warn',
          total: 2,
          tools: [
            { name: 'added', status: 'new', fingerprint: expect.any(String) },
            { name: 'echo', status: 'changed', fingerprint: expect.any(String) },
          ],
        },
      });
      server.offered.tools = [OTHER, toolNamed('last')];
      await listAll();
      await receiver.messagesOf(id, 2);
      const { items } = await succeed<{ items: object[] }>(app, 'WEBHOOK_DELIVERIES_LIST', {});
      expect(items).toMatchObject([
        { event: 'tools.changed', run_id: null },
        { event: 'tools.changed', run_id: null },
      ]);
    } finally {
      await receiver.close();
    }
  });
});
