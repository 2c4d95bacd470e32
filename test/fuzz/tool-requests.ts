import * as fc from 'fast-check';
import { valueOf, type Meaning, type Schema } from './schema-values.js';
import { oddJson, oddString } from './values.js';
import type { Kind } from './world.js';

/** One management tool as the OpenAPI document has it. */
interface ToolDefinition {
  readonly name: string;
  readonly input: Schema;
}

/** What the fuzzer of one tool sends as its input. */
export type ToolInputs = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** A reference to something that exists, or has existed, when the request is sent. */
export function ref(kind: Kind | `own-${Kind}`): fc.Arbitrary<string> {
  return fc.nat(7).map((index) => `@@${kind}:${index}@@`);
}

export const toolNames: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'echo',
      'public_echo',
      'anything',
      'strict',
      'sleep',
      'progress',
      'fails',
      'throws',
      'large',
      '__proto__',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('*', 'resources', 'prompts', 'fuzz_echo') },
  { weight: 1, arbitrary: oddString },
);

const addresses = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .constantFrom('legacy', 'stateless', 'modern', 'either', 'guarded', 'v1', 'nothing')
      .map((name) => `@@address:${name}@@`),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'http://127.0.0.1:1/mcp',
      'http://127.0.0.1/',
      'file:///etc/passwd',
      'http://[::1]:1/',
      'http://user:pw@127.0.0.1:1/',
      'javascript:1',
      'http://0x7f.1:1/',
      'HTTP://127.0.0.1:1',
    ),
  },
  { weight: 1, arbitrary: oddString },
);
const secrets = fc.nat(999).map((n) => `@@secret:${n}@@`);
const headerNames = fc.constantFrom(
  'x-secret',
  'authorization',
  'cookie',
  'x-api-key',
  'host',
  'content-length',
  '__proto__',
  'X-Ünï',
);
const times = fc.constantFrom(
  '2026-01-01T00:00:00Z',
  '2026-11-22',
  'now',
  '+275760-09-13T00:00:00.000Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999+14:00',
  '-infinity',
  '2026-02-30T00:00:00Z',
);

const PERMISSIONS = fc.dictionary(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('self', '*') },
    { weight: 4, arbitrary: ref('connection') },
    { weight: 1, arbitrary: oddString },
  ),
  fc.array(
    fc.oneof(
      { weight: 4, arbitrary: toolNames },
      {
        weight: 4,
        arbitrary: fc.constantFrom(
          '*',
          'COLLECTION_THREADS_LIST',
          'RUN_GET',
          'API_KEY_LIST',
          'API_KEY_CREATE',
          'CONNECTION_STDIO',
          'COLLECTION_CONNECTIONS_LIST',
        ),
      },
    ),
    { maxLength: 4 },
  ),
  { maxKeys: 4 },
);

const FIELDS = [
  'id',
  'title',
  'status',
  'created_at',
  'updated_at',
  'thread_id',
  'virtual_mcp_id',
  'connection_type',
  'tool_name',
  'attempt',
  'duration_ms',
  'connection_id',
  'description',
  'error',
  'text',
  'question',
  'tool',
  'model',
  'error_code',
  'cost_usd',
  'total_tokens',
  'user_id',
  '__proto__',
];
const fieldPath = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...FIELDS).map((field) => [field]) },
  { weight: 1, arbitrary: fc.array(oddString, { maxLength: 3 }) },
);
const comparison = fc.record({
  field: fieldPath,
  operator: fc.constantFrom('eq', 'gt', 'gte', 'lt', 'lte', 'in', 'like', 'contains', 'matches', 'ne'),
  value: fc.oneof(
    { weight: 3, arbitrary: oddJson },
    { weight: 3, arbitrary: oddString },
    { weight: 2, arbitrary: times },
    { weight: 1, arbitrary: fc.array(oddString, { maxLength: 5 }) },
  ),
});
const { where } = fc.letrec((tie) => ({
  where: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    { weight: 3, arbitrary: comparison },
    { weight: 1, arbitrary: tie('group') },
  ),
  group: fc.record({
    operator: fc.constantFrom('and', 'or', 'not'),
    conditions: fc.array(tie('where'), { maxLength: 4 }),
  }),
}));

const STDIO = fc.record(
  {
    command: fc.constantFrom('node', 'sh', 'no-such-command', '/bin/sh', '../node', 'node\0'),
    args: fc
      .array(
        oddString.filter((text) => !text.startsWith('-')),
        { maxLength: 2 },
      )
      .map((more) => ['@@address:program@@', ...more]),
    env: fc.dictionary(fc.constantFrom('FUZZ', 'PATH', 'NODE_OPTIONS', 'LD_PRELOAD', '__proto__', 'a=b'), secrets, {
      maxKeys: 2,
    }),
    cwd: fc.constantFrom(null, '/', '/nowhere', 'relative'),
  },
  { requiredKeys: ['command', 'args'] },
);

/** No limit of the organization that all sequences share may be reached. */
const limits = fc.record(
  Object.fromEntries(
    ['requests_per_minute', 'runs_per_minute', 'concurrent_runs', 'waiting_runs'].map((name) => [
      name,
      fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(null, 1_000_000) },
        { weight: 1, arbitrary: fc.constantFrom(0, -1, 1.5, '5', 1e300) },
      ),
    ]),
  ),
  { requiredKeys: [] },
);

/** A limit that applies would refuse runs whose model has no price. */
const noSpend = fc.constantFrom(null, {}, 0, '5', { usd_per_day: 0 }, { usd_per_day: null }, { usd_per_month: 1e300 });

/** Tools as an agent dresses them, with paths that are pointers or almost so. */
const dressedTools = fc.record(
  {
    tool: toolNames,
    name: fc.oneof(toolNames, fc.constantFrom('echo', 'a'.repeat(64), 'a b')),
    description: fc.string(),
    arguments: fc.record(
      {
        fixed: fc.dictionary(fc.constantFrom('/message', '/a/b', '/', 'message', '/__proto__', '/~2'), fc.jsonValue()),
        hidden: fc.array(fc.constantFrom('/message', '/message/a', '/a~1b', '', '/constructor'), { maxLength: 3 }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['tool'] },
);

/** What a property is, whichever tool takes it. */
const MEANINGS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  spend: noSpend,
  virtual_mcp_id: ref('agent'),
  connection_id: ref('connection'),
  thread_id: ref('thread'),
  provider_id: ref('provider'),
  selected_tools: fc.oneof(fc.constant(null), fc.uniqueArray(fc.oneof(toolNames, dressedTools), { maxLength: 4 })),
  connection_url: addresses,
  base_url: fc.oneof({ weight: 4, arbitrary: fc.constant('@@address:v1@@') }, { weight: 1, arbitrary: addresses }),
  connection_token: fc.oneof(
    { weight: 4, arbitrary: secrets },
    { weight: 1, arbitrary: fc.constant('@@address:token@@') },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
  api_key: fc.oneof({ weight: 4, arbitrary: secrets }, { weight: 1, arbitrary: fc.constant(null) }),
  headers: fc.dictionary(headerNames, secrets, { maxKeys: 3 }),
  stdio: STDIO,
  permissions: PERMISSIONS,
  where,
  field: fieldPath,
  cursor: ref('cursor'),
  from: times,
  to: times,
  limits,
  timeout: fc.constantFrom(1_000, 5_000, 999, 3_600_000, 3_600_001),
  // A key that has expired is worth as much as one that lasts.
  expiresIn: fc.constantFrom(1, 2, 60, 3_155_760_000, 3_155_760_001),
};

const storable = oddString.filter((text) => !text.includes('\0') && text.isWellFormed());
const fields = fc.constantFrom('created_at', 'status', 'id', 'title', 'updated_at');
const condition = fc.oneof(
  fc.record({
    field: fc.constantFrom(['created_at'], ['updated_at']),
    operator: fc.constantFrom('gt', 'lte'),
    value: fc.constantFrom('2026-01-01T00:00:00Z', '2026-11-22T01:02:03.456Z'),
  }),
  fc.record({
    field: fc.constantFrom(['title'], ['status']),
    operator: fc.constantFrom('eq', 'like', 'contains', 'gt'),
    value: storable,
  }),
  fc.record({
    field: fc.constantFrom(['title'], ['id']),
    operator: fc.constant('in'),
    value: fc.array(storable, { minLength: 1, maxLength: 4 }),
  }),
);

/** What takes their place in a body that has to fit. `null` leaves a property out. */
const SOUND: Readonly<Record<string, fc.Arbitrary<unknown> | null>> = {
  cursor: null,
  offset: fc.nat(40),
  stdio: null,
  connection_url: fc
    .constantFrom('legacy', 'stateless', 'modern', 'either', 'guarded')
    .map((name) => `@@address:${name}@@`),
  base_url: fc.constant('@@address:v1@@'),
  headers: fc.dictionary(fc.constantFrom('x-secret', 'x-api-key', 'x-other'), secrets, { maxKeys: 3 }),
  orderBy: fc.oneof(
    fc.constant([]),
    fields.chain((field) => fc.constantFrom('asc', 'desc').map((direction) => [{ field: [field], direction }])),
  ),
  where: fc.oneof(
    { weight: 4, arbitrary: condition },
    {
      weight: 1,
      arbitrary: fc.record({
        operator: fc.constantFrom('and', 'or'),
        conditions: fc.array(condition, { minLength: 1, maxLength: 4 }),
      }),
    },
  ),
  timeout: fc.integer({ min: 1_000, max: 5_000 }),
  selected_tools: fc.oneof(
    fc.constant(null),
    fc.uniqueArray(fc.constantFrom('echo', 'public_echo', 'anything', 'sleep', '__proto__', 'gone'), { maxLength: 4 }),
  ),
  prefix: fc.constantFrom('fuzz', 'a', '__proto__', null),
  from: fc.constantFrom('2026-01-01T00:00:00Z'),
  to: fc.constantFrom('2026-12-31T00:00:00Z'),
  expiresIn: fc.constantFrom(1, 60, 3_155_760_000),
};

/** What the `id` of a tool names. Nobody changes or deletes a fixture. */
function idFor(tool: string): fc.Arbitrary<unknown> | undefined {
  const changes = /_(UPDATE|DELETE|CANCEL)$/.test(tool);
  const of = (kind: Kind): fc.Arbitrary<string> => ref(changes ? `own-${kind}` : kind);
  if (tool.startsWith('AI_PROVIDER')) return of('provider');
  if (tool.startsWith('API_KEY')) return ref('own-key');
  if (tool.startsWith('COLLECTION_CONNECTIONS') || tool === 'CONNECTION_TEST' || tool.startsWith('CONNECTION_TOOLS'))
    return of('connection');
  if (tool.startsWith('COLLECTION_VIRTUAL_MCP')) return of('agent');
  if (tool.startsWith('COLLECTION_THREADS')) return of('thread');
  if (tool.startsWith('FILE_')) return of('file');
  return tool.startsWith('RUN_') ? of('run') : undefined;
}

/** Inputs that mostly fit, for each tool. */
export function toolInputs(tools: readonly ToolDefinition[]): ToolInputs {
  return Object.fromEntries(tools.map(({ name, input }) => [name, valueOf(input, meaningsOf(name))]));
}

function meaningsOf(tool: string): Meaning {
  return (path, isSound) => {
    const name = path.at(-1) ?? '';
    if (path.length === 1 && name === 'id') return idFor(tool);
    if (isSound && tool.startsWith('COLLECTION_CONNECTIONS') && path.join('.') === 'data') return soundConnection(tool);
    if (isSound && Object.hasOwn(SOUND, name)) return SOUND[name];
    return Object.hasOwn(MEANINGS, name) ? MEANINGS[name] : undefined;
  };
}

function soundConnection(tool: string): fc.Arbitrary<unknown> {
  const title = fc.constantFrom(
    'Title',
    '__proto__',
    '\u202etxt',
    'x'.repeat(128),
    'ſ',
    '\ufeff',
    'legacy',
    '\ud83d\ude00',
  );
  const rest = {
    timeout: fc.integer({ min: 1_000, max: 5_000 }),
    public_tools: fc.constantFrom('honor', 'ignore'),
    status: fc.constantFrom('active', 'active', 'inactive'),
  };
  const http = {
    title,
    connection_url: SOUND['connection_url'] ?? addresses,
    connection_token: secrets,
    connection_headers: fc.record({ headers: SOUND['headers'] ?? secrets }),
    ...rest,
  };
  if (tool.endsWith('UPDATE')) return fc.record(http, { requiredKeys: [] });
  const stdio = fc.record({
    command: fc.constant('node'),
    args: fc.constant(['@@address:program@@']),
    env: fc.dictionary(fc.constantFrom('FUZZ', 'TOKEN'), secrets, { maxKeys: 2 }),
  });
  return fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record(
        { connection_type: fc.constant('HTTP'), ...http },
        { requiredKeys: ['connection_type', 'title', 'connection_url', 'timeout'] },
      ),
    },
    {
      weight: 1,
      arbitrary: fc.record(
        { connection_type: fc.constant('STDIO'), title, stdio, ...rest },
        { requiredKeys: ['connection_type', 'title', 'stdio', 'timeout'] },
      ),
    },
  );
}
