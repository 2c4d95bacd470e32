import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { newTenant, type Tenant } from '../support/tenant.js';
import { callProxy, pathOf, type ProxyAnswer, rpc, rpcOf, toolCall } from '../support/proxy-calls.js';
import { auditOf, connectTo, keyWith } from '../support/proxy-connections.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../support/scripted-upstream.js';
import { startSecondOrganization } from '../support/second-organization.js';
import { eventually } from '../support/eventually.js';

const inputSchema = { type: 'object' };
const TOOLS = [
  { name: 'public', inputSchema, _meta: { 'mcp.service': { public_tool: true } } },
  { name: 'public_legacy', inputSchema, _meta: { 'mcp.legacy': { public_tool: true } } },
  { name: 'private', inputSchema },
  // None of these has `public_tool: true` in a relevant place.
  { name: 'says_yes', inputSchema, _meta: { 'mcp.service': { public_tool: 'true' } } },
  { name: 'says_so_elsewhere', inputSchema, _meta: { public_tool: true, other: { public_tool: true } } },
  { name: 'says_no', inputSchema, _meta: { 'mcp.service': { public_tool: false } } },
];
const ALL_NAMES = TOOLS.map(({ name }) => name);
const PUBLIC_NAMES = ['public', 'public_legacy'];
const GRANTED = ['private', 'public'];

type Door = 'direct' | 'legacy' | 'call-tool' | 'scoped call-tool';
type CallerName = 'no key' | 'bad key' | 'malformed' | 'expired' | 'other organization' | 'no grant' | 'grant' | '*';

const DOORS: readonly Door[] = ['direct', 'legacy', 'call-tool', 'scoped call-tool'];
const ENTRY_POINTS = { direct: 'proxy', legacy: 'legacy', 'call-tool': 'call_tool', 'scoped call-tool': 'call_tool' };

/** The expected answer of a call: HTTP status, JSON-RPC code and error code, and the recorded outcome. */
interface Expected {
  status: number;
  rpc?: number;
  code?: string;
  /** Absent if the call is not recorded, because it has no caller or belongs to another organization. */
  audit?: { status: 'success' | 'denied'; public: boolean };
}

const refused = (status: number, code: string, audit?: Expected['audit']): Expected => ({
  status,
  rpc: -32000,
  code,
  ...(audit && { audit }),
});
const allowed = (isPublic: boolean): Expected => ({ status: 200, audit: { status: 'success', public: isPublic } });
const DENIED = { status: 'denied', public: false } as const;

/** All permission rules for tool calls. */
function expectedFor(caller: CallerName, door: Door, tool: string): Expected {
  const isPublic = PUBLIC_NAMES.includes(tool);
  const isScoped = door === 'direct' || door === 'scoped call-tool';
  switch (caller) {
    case 'no key':
      return isPublic ? allowed(true) : refused(401, 'credential_missing', DENIED);
    case 'bad key':
    case 'malformed':
      return refused(401, 'credential_invalid');
    case 'expired':
      return refused(401, 'credential_expired');
    case 'other organization':
      // The legacy paths take the organization from the key, and there the connection does not exist.
      return isScoped ? refused(403, 'organization_mismatch') : refused(404, 'not_found');
    case 'no grant':
      return isPublic ? allowed(true) : refused(403, 'permission_denied', DENIED);
    case 'grant':
      if (GRANTED.includes(tool)) return allowed(false);
      return isPublic ? allowed(true) : refused(403, 'permission_denied', DENIED);
    case '*':
      return allowed(false);
  }
}

let app: Tenant;
let upstream: ScriptedServer;
/** With public tools, and with `public_tools: ignore`. */
let honoring: string;
let ignoring: string;
let keys: Record<CallerName, string | undefined>;

beforeAll(async () => {
  const { script } = legacyServer(({ message }, response) => {
    if (message.method === 'tools/list') return sendResult(response, message, { tools: TOOLS });
    return sendResult(response, message, { content: [{ type: 'text', text: String(message.params?.['name']) }] });
  });
  upstream = await startScripted(script);
  app = await newTenant();
  honoring = await connectTo(app, upstream.url);
  ignoring = await connectTo(app, upstream.url, { public_tools: 'ignore' });
  const foreign = await startSecondOrganization(app, 'elsewhere');
  const foreignKey = await foreign.tool('API_KEY_CREATE', { name: 'test', permissions: { '*': ['*'] } });
  keys = {
    'no key': undefined,
    'bad key': generateApiKey(),
    malformed: 'sbx_nothing',
    expired: await keyWith(app, { '*': ['*'] }, { expiresIn: 1 }),
    'other organization': foreignKey.body.key as string,
    'no grant': await keyWith(app, { self: ['*'], [randomUUID()]: ['*'] }),
    grant: await keyWith(app, { [honoring]: GRANTED, [ignoring]: GRANTED }),
    '*': await keyWith(app, { '*': ['*'] }),
  };
  const expired = () => app.tool('API_KEY_LIST', {}, keys['expired']);
  await eventually(async () => expect((await expired()).status).toBe(401));
});

afterAll(async () => {
  await app?.close();
  await upstream?.close();
});

function call(caller: CallerName, door: Door, tool: string, connectionId = honoring): Promise<ProxyAnswer> {
  const base = door === 'legacy' || door === 'call-tool' ? `/mcp/${connectionId}` : pathOf(app, connectionId);
  const takesArguments = door === 'call-tool' || door === 'scoped call-tool';
  const path = takesArguments ? `${base}/call-tool/${tool}` : base;
  return callProxy(app, path, { key: keys[caller], body: takesArguments ? {} : toolCall(tool) });
}

/** The exact challenge (interface, "Authentication" 6); undefined for an answer other than 401. */
function challengeFor({ status, code }: Expected, door: Door, connectionId = honoring): string | undefined {
  if (status !== 401) return undefined;
  const endpoint = door === 'legacy' || door === 'call-tool' ? `/mcp/${connectionId}` : pathOf(app, connectionId);
  const url = `${app.url}${endpoint}/.well-known/oauth-protected-resource`;
  const challenge = `Bearer realm="mcp",resource_metadata="${url}"`;
  return code === 'credential_missing' ? challenge : `${challenge},error="invalid_token"`;
}

const CALLERS: readonly CallerName[] = [
  'no key',
  'bad key',
  'malformed',
  'expired',
  'other organization',
  'no grant',
  'grant',
  '*',
];
const MATRIX = CALLERS.flatMap((caller) => DOORS.flatMap((door) => ALL_NAMES.map((tool) => ({ caller, door, tool }))));

describe('a tool call', () => {
  it.each(MATRIX)('$caller · $door · $tool', async ({ caller, door, tool }) => {
    const expected = expectedFor(caller, door, tool);
    const before = upstream.calls('tools/call').length;
    const answer = await call(caller, door, tool);
    const { error, result, jsonrpc } = rpcOf(answer);

    expect({ status: answer.status, rpc: error?.code, code: error?.data.code, jsonrpc }).toEqual({
      status: expected.status,
      rpc: expected.rpc,
      code: expected.code,
      jsonrpc: '2.0',
    });
    expect(answer.headers['www-authenticate']).toBe(challengeFor(expected, door));
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    const isAllowed = expected.status === 200;
    expect(upstream.calls('tools/call').length - before).toBe(isAllowed ? 1 : 0);
    if (isAllowed) expect(result?.content?.[0]?.text).toBe(tool);
    else expect(error?.data.request_id).toBe(answer.headers['x-request-id']);

    const record = await auditOf(app, String(answer.headers['x-request-id']));
    if (expected.audit === undefined) {
      expect(record).toBeUndefined();
      return;
    }
    const isKnown = caller !== 'no key';
    expect(record).toMatchObject({
      ...expected.audit,
      door: ENTRY_POINTS[door],
      connection_id: honoring,
      agent_id: null,
      run_id: null,
      tool_name: tool,
      error_code: isAllowed ? null : 'permission_denied',
      user_id: null,
      api_key_id: isKnown ? expect.any(String) : null,
    });
  });
});

describe('a connection that ignores public marks of its upstream', () => {
  it.each(DOORS.flatMap((door) => PUBLIC_NAMES.map((tool) => ({ door, tool }))))(
    'requires a grant: $door · $tool',
    async ({ door, tool }) => {
      const before = upstream.calls('tools/call').length;
      const anonymous = await call('no key', door, tool, ignoring);
      expect({ status: anonymous.status, code: rpcOf(anonymous).error?.data.code }).toEqual({
        status: 401,
        code: 'credential_missing',
      });
      const ungranted = await call('no grant', door, tool, ignoring);
      expect({ status: ungranted.status, code: rpcOf(ungranted).error?.data.code }).toEqual({
        status: 403,
        code: 'permission_denied',
      });
      expect(upstream.calls('tools/call')).toHaveLength(before);
      expect((await call('*', door, tool, ignoring)).status).toBe(200);
    },
  );
});

describe.each(['direct', 'legacy'] as const)('tools/list · %s', (door) => {
  async function listed(caller: CallerName, connectionId: string): Promise<number | string[]> {
    const path = door === 'legacy' ? `/mcp/${connectionId}` : pathOf(app, connectionId);
    const answer = await callProxy(app, path, { key: keys[caller], body: rpc('tools/list') });
    if (answer.status !== 200) return answer.status;
    return rpcOf(answer).result?.tools?.map(({ name }) => name) ?? [];
  }

  it.each(CALLERS)('shows exactly what can be called: %s', async (caller) => {
    const callable = ALL_NAMES.filter((tool) => expectedFor(caller, door, tool).status === 200);
    const refusal = expectedFor(caller, door, 'public').status;
    expect(await listed(caller, honoring)).toEqual(callable.length > 0 ? callable : refusal);
  });

  it('does not list public tools where they are ignored', async () => {
    expect(await listed('no key', ignoring)).toBe(401);
    expect(await listed('no grant', ignoring)).toEqual([]);
    expect(await listed('grant', ignoring)).toEqual(ALL_NAMES.filter((name) => GRANTED.includes(name)));
    expect(await listed('*', ignoring)).toEqual(ALL_NAMES);
  });
});

describe('the existence of a connection', () => {
  it.each(['not-a-uuid', randomUUID(), '../self', '%2e%2e', "' OR 1=1"])('is not revealed: %s', async (id) => {
    const path = `/api/${app.org}/mcp/${encodeURIComponent(id)}`;
    const anonymous = await callProxy(app, path, { body: rpc('tools/list') });
    expect({ status: anonymous.status, code: rpcOf(anonymous).error?.data.code }).toEqual({
      status: 401,
      code: 'credential_missing',
    });
    const known = await callProxy(app, path, { key: app.apiKey, body: rpc('tools/list') });
    expect({ status: known.status, code: rpcOf(known).error?.data.code }).toEqual({ status: 404, code: 'not_found' });
  });

  it('is not revealed to another organization, on any path', async () => {
    const path = pathOf(app, honoring).replace(app.org, `${app.org}-elsewhere`);
    const anonymous = await callProxy(app, path, { body: toolCall('public') });
    expect({ status: anonymous.status, challenge: anonymous.headers['www-authenticate'] }).toEqual({
      status: 401,
      challenge: `Bearer realm="mcp",resource_metadata="${app.url}${path}/.well-known/oauth-protected-resource"`,
    });
    const foreign = await callProxy(app, path, { key: keys['other organization'], body: toolCall('public') });
    expect(foreign.status).toBe(404);
  });
});

describe('a bad credential', () => {
  it.each(['', 'Bearer', 'Basic dXNlcjpwYXNz', 'Bearer a b', `bearer ${generateApiKey()}`])(
    'never falls through to anonymous: %j',
    async (authorization) => {
      const answer = await callProxy(app, pathOf(app, honoring), {
        headers: { authorization },
        body: toolCall('public'),
      });
      expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
        status: 401,
        code: 'credential_invalid',
      });
    },
  );
});

describe('the metadata of the protected resource', () => {
  const WELL_KNOWN = '/.well-known/oauth-protected-resource';

  it.each([['scoped'], ['legacy']])('is public at both of its paths: %s', async (kind) => {
    const endpoint = kind === 'legacy' ? `/mcp/${honoring}` : pathOf(app, honoring);
    for (const path of [endpoint + WELL_KNOWN, WELL_KNOWN + endpoint]) {
      const answer = await callProxy(app, path, { method: 'GET' });
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.text)).toMatchObject({
        resource: app.url + endpoint,
        bearer_methods_supported: ['header'],
      });
    }
  });
});

describe('a legacy path', () => {
  it.each(['legacy', 'call-tool'] as const)('answers with a deprecation header: %s', async (door) => {
    const { headers } = await call('*', door, 'private');
    expect(headers['deprecation']).toMatch(/^@\d+$/);
    const successor = door === 'legacy' ? pathOf(app, honoring) : `${pathOf(app, honoring)}/call-tool/private`;
    expect(headers['link']).toBe(`<${successor}>; rel="successor-version"`);
    expect((await call('*', door === 'legacy' ? 'direct' : 'scoped call-tool', 'private')).headers).not.toHaveProperty(
      'deprecation',
    );
  });
});
