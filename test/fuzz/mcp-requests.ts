import * as fc from 'fast-check';
import { stepOf, type Step, type StepParts } from './step.js';
import { ref, toolNames, type ToolInputs } from './tool-requests.js';
import { oddJson, oddSegment, oddString } from './values.js';

const MODERN = '2026-07-28';
const LEGACY_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
/** How long a stream that has no end of its own is read. */
const HOLD_MS = 60;
/** Where the last session was opened. */
const SESSION_PATH = '@@session-path:0@@';

interface Message {
  readonly method: string;
  readonly params: unknown;
}

const uris = fc.oneof(fc.constantFrom('fuzz://one', 'fuzz://two', 'file:///etc/passwd'), oddString);
const capabilities = fc.constantFrom(
  {},
  { sampling: {} },
  { elicitation: {}, roots: { listChanged: true } },
  { tasks: {} },
  { sampling: 1 },
);
const clientInfo = fc.record({ name: oddString, version: oddString }, { requiredKeys: ['name', 'version'] });

/** Arguments of the upstreams' tools, fitting or not. */
const toolArguments = fc.oneof(
  { weight: 4, arbitrary: fc.record({ message: oddString }) },
  {
    weight: 3,
    arbitrary: fc.record(
      { n: oddJson, ms: fc.integer({ max: 300 }), kilobytes: fc.integer({ max: 64 }) },
      { requiredKeys: [] },
    ),
  },
  { weight: 2, arbitrary: fc.dictionary(oddString, oddJson, { maxKeys: 3 }) },
  { weight: 1, arbitrary: oddJson },
);
const reference = fc.constantFrom(
  { type: 'ref/prompt', name: 'greet' },
  { type: 'ref/resource', uri: 'fuzz://one' },
  { type: 'x' },
  null,
);
/** A key that was pasted in the wrong place is nobody's business, whatever the answer says. */
const calledNames = fc.oneof(
  { weight: 30, arbitrary: toolNames },
  { weight: 1, arbitrary: fc.constant('@@key-value:all@@') },
);
const tasks = fc.record({ taskId: oddString }, { requiredKeys: [] });

function message(method: string, params: fc.Arbitrary<unknown> = fc.constant({})): fc.Arbitrary<Message> {
  return params.map((given) => ({ method, params: given }));
}

const initialize = fc
  .record({ protocolVersion: fc.constantFrom(...LEGACY_VERSIONS, MODERN, '1'), capabilities, clientInfo })
  .map((params) => ({ method: 'initialize', params }));
const call = (names: fc.Arbitrary<string>): fc.Arbitrary<Message> =>
  message(
    'tools/call',
    fc.record(
      {
        name: names,
        arguments: toolArguments,
        _meta: fc.constantFrom({ progressToken: 1 }, { progressToken: 'p' }, {}, null),
        task: fc.constant({ ttl: 1 }),
      },
      { requiredKeys: ['name'] },
    ),
  );

const METHODS: readonly [weight: number, fc.Arbitrary<Message>][] = [
  [8, call(calledNames)],
  [5, message('tools/list', fc.oneof(fc.constant({}), fc.record({ cursor: oddString })))],
  [3, initialize],
  [2, message('notifications/initialized')],
  [1, message('ping')],
  [1, message('resources/list')],
  [1, message('resources/templates/list')],
  [2, message('resources/read', fc.record({ uri: uris }))],
  [1, message('resources/subscribe', fc.record({ uri: uris }))],
  [1, message('resources/unsubscribe', fc.record({ uri: uris }))],
  [1, message('prompts/list')],
  [
    2,
    message(
      'prompts/get',
      fc.record({
        name: fc.oneof(fc.constant('greet'), oddString),
        arguments: fc.dictionary(oddString, oddString, { maxKeys: 2 }),
      }),
    ),
  ],
  [
    1,
    message(
      'completion/complete',
      fc.record({ ref: reference, argument: fc.record({ name: oddString, value: oddString }) }),
    ),
  ],
  [1, message('logging/setLevel', fc.record({ level: fc.oneof(fc.constantFrom('debug', 'emergency'), oddString) }))],
  [1, fc.constantFrom('list', 'get', 'cancel', 'result', 'update').chain((verb) => message(`tasks/${verb}`, tasks))],
  [2, message('server/discover')],
  [
    1,
    message(
      'subscriptions/listen',
      fc.record({
        notifications: fc.constantFrom({ toolsListChanged: true }, { resourceSubscriptions: ['fuzz://one'] }, {}, 1),
      }),
    ),
  ],
  [1, message('notifications/cancelled', fc.record({ requestId: oddJson, reason: oddString }))],
  [1, message('notifications/roots/list_changed')],
  [
    1,
    fc
      .constantFrom('sampling/createMessage', 'elicitation/create', 'roots/list', 'rpc.discover', 'x')
      .chain((method) => message(method, oddJson)),
  ],
  [1, oddString.chain((method) => message(method, oddJson))],
];

const ids = fc.oneof(
  { weight: 12, arbitrary: fc.oneof(fc.nat(99), fc.constantFrom('one', 'two')) },
  { weight: 1, arbitrary: oddJson },
);

interface Framed {
  readonly body: unknown;
  readonly headers: Record<string, string>;
  readonly isListening: boolean;
  /** It belongs to the session that was opened last. */
  readonly isInSession: boolean;
}

const anyEra = fc.oneof(
  { weight: 5, arbitrary: fc.constant('legacy') },
  { weight: 3, arbitrary: fc.constant('session') },
  { weight: 4, arbitrary: fc.constant('modern') },
);

/** A message of one of the eras, in or outside a session, and sometimes of neither. */
function framed(messages: fc.Arbitrary<Message>, eras = anyEra): fc.Arbitrary<Framed> {
  const frames = fc.oneof(
    { weight: 30, arbitrary: fc.constant('request') },
    { weight: 1, arbitrary: fc.constantFrom('answer', 'error', 'batch', 'versionless', 'extra') },
  );
  return fc.tuple(messages, ids, eras, frames, oddJson).map(([{ method, params }, id, era, frame, odd]) => {
    const isNotification = method.startsWith('notifications/');
    const envelope = {
      jsonrpc: '2.0',
      ...(!isNotification && { id }),
      method,
      params: era === 'modern' ? withModernMeta(params) : params,
    };
    const body = {
      request: envelope,
      answer: { jsonrpc: '2.0', id, result: odd },
      error: { jsonrpc: '2.0', id, error: odd },
      batch: [envelope, envelope],
      versionless: { ...envelope, jsonrpc: odd },
      extra: { ...envelope, result: odd },
    }[frame];
    return {
      body,
      headers: headersOf(era, method, params),
      isListening: method === 'subscriptions/listen',
      isInSession: era === 'session',
    };
  });
}

function headersOf(era: string, method: string, params: unknown): Record<string, string> {
  if (era === 'legacy') return {};
  if (era === 'session') return { 'mcp-session-id': '@@session-here:0@@', 'mcp-protocol-version': '2025-11-25' };
  const { name, uri } = (params ?? {}) as { name?: unknown; uri?: unknown };
  const named = name ?? uri;
  return {
    'mcp-protocol-version': MODERN,
    ...(isHeaderValue(method) && { 'mcp-method': method }),
    ...(typeof named === 'string' && { 'mcp-name': isHeaderValue(named) ? named : encoded(named) }),
  };
}

function withModernMeta(params: unknown): unknown {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return params;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'fuzz', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return { ...params, _meta };
}

const isHeaderValue = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);
const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** The endpoints that speak MCP, with and without an organization in their path. */
const endpoints: fc.Arbitrary<{ label: string; path: string }> = fc.oneof(
  { weight: 10, arbitrary: ref('connection').map((id) => ({ label: 'mcp/:connection', path: `/api/:org/mcp/${id}` })) },
  { weight: 6, arbitrary: ref('agent').map((id) => ({ label: 'mcp/gateway', path: `/api/:org/mcp/gateway/${id}` })) },
  { weight: 3, arbitrary: ref('connection').map((id) => ({ label: 'legacy /mcp', path: `/mcp/${id}` })) },
  { weight: 1, arbitrary: oddSegment.map((id) => ({ label: 'mcp/:odd', path: `/api/:org/mcp/${id}` })) },
  { weight: 1, arbitrary: fc.constant({ label: 'mcp/:odd', path: '/api/:org/mcp/@@key-value:all@@' }) },
  { weight: 1, arbitrary: oddSegment.map((id) => ({ label: 'mcp/gateway', path: `/api/:org/mcp/gateway/${id}` })) },
);

/** Requests of MCP clients, by what they are. */
interface McpSteps {
  readonly posts: fc.Arbitrary<Step>;
  /** Opens a session. */
  readonly opens: fc.Arbitrary<Step>;
  readonly calls: fc.Arbitrary<Step>;
  readonly listens: fc.Arbitrary<Step>;
  readonly ends: fc.Arbitrary<Step>;
  readonly callTools: fc.Arbitrary<Step>;
  readonly self: fc.Arbitrary<Step>;
  readonly metadata: fc.Arbitrary<Step>;
}

export function mcpSteps(inputs: ToolInputs): McpSteps {
  const managementCalls = fc.oneof(
    ...Object.entries(inputs).map(([name, input]) =>
      input.map((args) => ({ method: 'tools/call', params: { name, arguments: args } })),
    ),
  );
  const self = fc.oneof({ weight: 3, arbitrary: managementCalls }, { weight: 1, arbitrary: anyMessage() });
  const post = (messages: fc.Arbitrary<Message>, eras = anyEra): fc.Arbitrary<Step> =>
    stepOf(fc.tuple(endpoints, framed(messages, eras)).map(([{ label, path }, frame]) => posted(label, path, frame)));
  const places = fc.oneof(
    { weight: 2, arbitrary: fc.constant({ label: 'mcp session', path: SESSION_PATH }) },
    endpoints,
  );
  const session = { 'mcp-session-id': '@@session-here:0@@' };
  return {
    posts: post(anyMessage()),
    opens: post(initialize, fc.constant('legacy')),
    calls: post(call(calledNames)),
    listens: stepOf(
      fc.tuple(places, fc.constantFrom(session, {})).map(([{ label, path }, headers]) => ({
        label: `GET ${label}`,
        method: 'GET',
        path,
        headers: { ...headers, accept: 'text/event-stream' },
        isRpc: true,
        holdMs: HOLD_MS,
      })),
    ),
    ends: stepOf(
      places.map(({ label, path }) => ({
        label: `DELETE ${label}`,
        method: 'DELETE',
        path,
        headers: session,
        isRpc: true,
      })),
    ),
    callTools: stepOf(
      fc
        .tuple(
          fc.constantFrom('/api/:org/mcp', '/mcp'),
          ref('connection'),
          fc.oneof({ weight: 4, arbitrary: toolNames.map(segment) }, { weight: 1, arbitrary: oddSegment }),
          toolArguments,
        )
        .map(([base, id, name, body]) => ({
          label: 'POST call-tool',
          method: 'POST',
          path: `${base}/${id}/call-tool/${name}`,
          body,
          isRpc: true,
        })),
    ),
    self: stepOf(
      framed(self, fc.constantFrom('legacy', 'modern')).map((frame) => posted('mcp/self', '/api/:org/mcp/self', frame)),
    ),
    metadata: stepOf(
      fc.tuple(endpoints, fc.constantFrom('/.well-known/oauth-protected-resource', '')).map(([{ path }, suffix]) => ({
        label: 'GET protected-resource',
        method: 'GET',
        path:
          suffix === '' ? `/.well-known/oauth-protected-resource${path}` : `${path.replaceAll('?', '%3f')}${suffix}`,
      })),
    ),
  };
}

function anyMessage(): fc.Arbitrary<Message> {
  return fc.oneof(...METHODS.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

function posted(label: string, path: string, { body, headers, isListening, isInSession }: Framed): StepParts {
  return {
    label: isInSession ? 'POST mcp session' : `POST ${label}`,
    method: 'POST',
    path: isInSession ? SESSION_PATH : path,
    headers,
    body,
    isRpc: true,
    ...(isListening && { holdMs: HOLD_MS }),
  };
}

const segment = (text: string): string => encodeURIComponent(text.toWellFormed());
