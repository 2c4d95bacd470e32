import * as fc from 'fast-check';
import { mcpSteps } from './mcp-requests.js';
import { valueOf, type Meaning, type Schema } from './schema-values.js';
import { stepOf, type Step } from './step.js';
import { ref, toolInputs } from './tool-requests.js';
import { oddSegment, oddString } from './values.js';

/** The part of the OpenAPI document that is read here. */
export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

/** Steps one after the other; those of a group are sent at once. */
export type Sequence = readonly (readonly Step[])[];

const TOOL_PATH = '/api/{org}/tools/';
const HOLD_MS = 80;
/** Queries over the whole record of calls, which grows with every request of the fuzzer. */
const COSTLY = /^MONITORING_/;

const directives = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '/call echo {"message":"hi"}',
      '/call echo {"message":1}',
      '/call legacy_echo {"message":"\\u0000"}',
      '/call anything {"__proto__":{"a":1}}',
      '/call throws',
      '/call sleep {"ms":50}',
      '/call large {"kilobytes":64}',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '/wait 20',
      '/wait -1',
      '/words 40',
      '/words 0',
      '/random 20',
      '/fail \u0000',
      '/fail',
      '/nothing',
      '/',
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(10, 60, 70, 500, 6_000)
      .map((depth) => `/call anything {"a":${'['.repeat(depth)}${']'.repeat(depth)}}`),
  },
);
const texts = fc
  .array(fc.oneof({ weight: 2, arbitrary: oddString }, { weight: 3, arbitrary: directives }), { maxLength: 4 })
  .map((lines) => lines.join('\n'));
const part = texts.map((text) => ({ type: 'text', text }));
const messages = fc
  .tuple(
    fc.array(fc.record({ role: fc.constant('system'), parts: fc.array(part, { minLength: 1, maxLength: 2 }) }), {
      maxLength: 1,
    }),
    fc.array(part, { minLength: 1, maxLength: 3 }),
  )
  .map(([system, parts]) => [...system, { role: 'user', parts }]);

/** What stands in the paths of the document. */
const PLACES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  threadId: fc.oneof(
    { weight: 12, arbitrary: fc.nat(3).map((index) => `@@thread:${index}@@`) },
    { weight: 1, arbitrary: oddSegment },
  ),
  taskId: fc.oneof(
    { weight: 12, arbitrary: fc.nat(3).map((index) => `@@run:${index}@@`) },
    { weight: 1, arbitrary: oddSegment },
  ),
  approvalId: fc.oneof(
    { weight: 12, arbitrary: fc.nat(3).map((index) => `@@approval:${index}@@`) },
    { weight: 2, arbitrary: fc.constant('@@run:0@@') },
    { weight: 1, arbitrary: oddSegment },
  ),
  responseId: fc.oneof(
    { weight: 12, arbitrary: fc.nat(3).map((index) => `resp_@@run:${index}@@`) },
    { weight: 2, arbitrary: fc.constant('resp_@@approval:0@@') },
    { weight: 1, arbitrary: oddSegment },
  ),
  model: fc.oneof(
    { weight: 12, arbitrary: fc.constant('@@agent-here:0@@') },
    { weight: 2, arbitrary: ref('agent') },
    { weight: 1, arbitrary: oddSegment },
  ),
  fileId: fc.oneof(
    { weight: 12, arbitrary: fc.nat(3).map((index) => `@@file:${index}@@`) },
    { weight: 2, arbitrary: fc.constant('@@run:0@@') },
    { weight: 1, arbitrary: oddSegment },
  ),
};

/**
 * Sequences of requests: of every route and tool of the document, of every MCP method, and of the routes that it leaves
 * out.
 * @throws when the document has a route that nothing here knows how to ask
 */
export function sequences(document: OpenApi): fc.Arbitrary<Sequence> {
  const routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const tools = routes
    .filter(({ path }) => path.startsWith(TOOL_PATH))
    .map(({ path, operation }) => ({ name: path.slice(TOOL_PATH.length), input: schemaOf(operation) ?? {} }));
  const inputs = toolInputs(tools);
  const tool = (name: string): fc.Arbitrary<Step> => {
    const input = inputs[name];
    if (input === undefined) throw new Error(`The document has no tool ${name}.`);
    return stepOf(
      input.map((body) => ({ label: `POST tools/${name}`, method: 'POST', path: `/api/:org/tools/${name}`, body })),
    );
  };
  const mcp = mcpSteps(inputs);
  const others = new Map(
    routes
      .filter(({ path }) => !path.startsWith(TOOL_PATH) && !path.includes('/mcp/'))
      .map(({ path, method, operation }) => [`${method} ${path}`, routeStep(path, method, operation)]),
  );
  const route = (name: string): fc.Arbitrary<Step> => {
    const found = others.get(name);
    if (found === undefined) throw new Error(`The document has no route ${name}.`);
    return found;
  };
  const post = route('POST /api/{org}/agent-runtime/threads/{threadId}/messages');
  const stream = route('GET /api/{org}/agent-runtime/threads/{threadId}/stream');
  const cancel = route('POST /api/{org}/agent-runtime/threads/{threadId}/cancel');
  const any = fc.oneof(
    {
      weight: 30,
      arbitrary: fc.oneof(...tools.map(({ name }) => ({ weight: COSTLY.test(name) ? 1 : 20, arbitrary: tool(name) }))),
    },
    { weight: 12, arbitrary: fc.oneof({ weight: 4, arbitrary: post }, stream, cancel, ...others.values()) },
    { weight: 30, arbitrary: mcp.posts },
    { weight: 8, arbitrary: mcp.self },
    { weight: 6, arbitrary: mcp.callTools },
    { weight: 3, arbitrary: mcp.listens },
    { weight: 2, arbitrary: mcp.ends },
    { weight: 1, arbitrary: mcp.metadata },
    { weight: 2, arbitrary: undocumented() },
  );
  const flows = [
    [
      tool('COLLECTION_THREADS_CREATE'),
      post,
      stream,
      post,
      cancel,
      tool('COLLECTION_THREAD_MESSAGES_LIST'),
      stream,
      tool('RUN_LIST'),
      tool('COLLECTION_THREADS_DELETE'),
      post,
    ],
    [
      tool('COLLECTION_CONNECTIONS_CREATE'),
      mcp.posts,
      tool('COLLECTION_VIRTUAL_MCP_CREATE'),
      mcp.calls,
      tool('COLLECTION_CONNECTIONS_UPDATE'),
      mcp.posts,
      tool('CONNECTION_TEST'),
      tool('CONNECTION_TOOLS_DIFF'),
      tool('CONNECTION_TOOLS_APPROVE'),
      tool('COLLECTION_CONNECTIONS_DELETE'),
      mcp.calls,
    ],
    [
      tool('COLLECTION_VIRTUAL_MCP_CREATE'),
      mcp.opens,
      mcp.calls,
      tool('COLLECTION_VIRTUAL_MCP_UPDATE'),
      tool('AGENT_VERSIONS_LIST'),
      tool('AGENT_VERSION_GET'),
      tool('AGENT_VERSION_RESTORE'),
      mcp.posts,
      tool('COLLECTION_THREADS_CREATE'),
      post,
      stream,
      tool('COLLECTION_VIRTUAL_MCP_DELETE'),
      post,
    ],
    [tool('API_KEY_CREATE'), any, any, tool('API_KEY_UPDATE'), any, tool('API_KEY_DELETE'), any],
    [
      tool('AI_PROVIDER_CREATE'),
      tool('AI_PROVIDER_TEST'),
      tool('AI_PROVIDER_MODELS'),
      tool('MODEL_TIERS_SET'),
      tool('COLLECTION_THREADS_CREATE'),
      post,
      stream,
      tool('AI_PROVIDER_UPDATE'),
      tool('AI_PROVIDER_DELETE'),
      post,
    ],
    [mcp.opens, mcp.posts, mcp.listens, mcp.calls, mcp.posts, mcp.ends, mcp.posts],
  ];
  const group = fc.oneof(
    { withCrossShrink: true },
    { weight: 6, arbitrary: fc.tuple(any) },
    { weight: 1, arbitrary: fc.array(any, { minLength: 2, maxLength: 5 }) },
  );
  const beginning = fc.option(fc.tuple(tool('COLLECTION_THREADS_CREATE'), mcp.opens), { freq: 1 });
  const wandering = fc
    .tuple(beginning, fc.array(group, { minLength: 1, maxLength: 10 }))
    .map(([first, groups]) => (first === null ? groups : [first, ...groups]));
  const purposeful = fc.oneof(
    ...flows.map((steps) =>
      fc.tuple(...steps.map((step) => often(step, any))).map((groups) => groups.filter(({ length }) => length > 0)),
    ),
  );
  return fc.oneof({ weight: 2, arbitrary: wandering }, { weight: 3, arbitrary: purposeful });
}

/** Mostly the step alone; sometimes twice at once, beside another one, or not at all. */
function often(step: fc.Arbitrary<Step>, any: fc.Arbitrary<Step>): fc.Arbitrary<readonly Step[]> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 1, arbitrary: fc.constant([]) },
    { weight: 14, arbitrary: fc.tuple(step) },
    { weight: 1, arbitrary: step.map((one) => [one, one]) },
    { weight: 1, arbitrary: fc.tuple(step, any) },
  );
}

function schemaOf({ requestBody }: Operation): Schema | undefined {
  return requestBody?.content['application/json']?.schema;
}

/** How a run request asks to be answered. */
const forms: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom('wait=1', 'wait="1"', 'wait=0', 'wait', 'wait=x, wait=1', ',;=')
      .map((prefer) => ({ prefer })),
  },
  { weight: 1, arbitrary: fc.constant({ accept: 'text/event-stream' }) },
);

/** A route of the document that is neither a tool nor MCP. */
function routeStep(path: string, method: string, operation: Operation): fc.Arbitrary<Step> {
  const { parameters = [] } = operation;
  const isStream = /\/(?:stream|events)$/.test(path);
  const isAsked = isStream || /\/(?:\{taskId\}|\{responseId\}|input_items)$/.test(path);
  const isTurn = /\/(?:messages|steer|regenerate)$/.test(path);
  const schema = schemaOf(operation);
  const inPath = parameters.filter(({ in: place, name }) => place === 'path' && name !== 'org').map(({ name }) => name);
  const places = fc.record(Object.fromEntries(inPath.map((name) => [name, placeOf(name, path)])));
  const query = fc.dictionary(
    fc.constantFrom('x', ...parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name)),
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('true', '204', '0', '1', '61', '@@run:0@@', '@@run:1@@') },
      { weight: 1, arbitrary: oddString.map((text) => encodeURIComponent(text.toWellFormed())) },
    ),
    { maxKeys: 2 },
  );
  const takesFile = operation.requestBody?.content['application/octet-stream'] !== undefined;
  const withoutSchema = takesFile ? oddString : fc.constant(undefined);
  const body = schema === undefined ? withoutSchema : valueOf(schema, runMeaning);
  return stepOf(
    fc
      .tuple(
        places,
        isAsked || path.endsWith('/steer') ? query : fc.constant({}),
        isTurn ? forms : fc.constant({}),
        body,
      )
      .map(([values, asked, form, given]) => {
        const filled = Object.entries(values).reduce((text, [name, value]) => text.replace(`{${name}}`, value), path);
        const search = Object.entries(asked)
          .map(([name, value]) => `${name}=${value}`)
          .join('&');
        return {
          label: `${method} ${path.replace('/api/{org}/agent-runtime/', '').replace(/\{\w+\}/, ':id')}`,
          method,
          path: `${filled.replace('{org}', ':org')}${search === '' ? '' : `?${search}`}`,
          ...(isStream && { holdMs: HOLD_MS, headers: { accept: 'text/event-stream' } }),
          ...(isTurn && { headers: form }),
          ...('accept' in form && { holdMs: HOLD_MS }),
          body: given,
        };
      }),
  );
}

function placeOf(name: string, path: string): fc.Arbitrary<string> {
  const place = PLACES[name];
  if (place === undefined) throw new Error(`The fuzzer does not know what ${name} of ${path} is.`);
  return place;
}

const runMeaning: Meaning = (path, isSound) => {
  const name = path.join('.');
  if (name === 'messages')
    return fc.oneof(
      { weight: 20, arbitrary: messages },
      { weight: 1, arbitrary: fc.array(oddString, { maxLength: 2 }) },
    );
  if (name === 'agent.id')
    return fc.oneof(
      { weight: isSound ? 1_000 : 5, arbitrary: fc.constant('@@agent-here:0@@') },
      { weight: 1, arbitrary: ref('agent') },
    );
  if (name === 'model' || name === 'input' || name === 'previous_response_id') return responseMember(name, isSound);
  return name === 'taskId' ? ref('run') : undefined;
};

/** A member of a response request that decides whether it is one. */
function responseMember(name: 'model' | 'input' | 'previous_response_id', isSound: boolean): fc.Arbitrary<unknown> {
  const weight = isSound ? 1_000 : 5;
  if (name === 'model') return fc.oneof({ weight, arbitrary: fc.constant('@@agent-here:0@@') }, ref('agent'));
  if (name === 'input') {
    const items = texts.map((content) => [{ role: 'user', content }]);
    return fc.oneof({ weight, arbitrary: texts }, { weight: 5, arbitrary: items }, oddString);
  }
  return fc.nat(3).map((index) => `resp_@@run:${index}@@`);
}

/** Routes that are not part of the documented interface, and some that do not exist. */
function undocumented(): fc.Arbitrary<Step> {
  const paths = fc.oneof(
    fc.constantFrom(
      '/api/:org/tools',
      '/docs',
      '/docs/',
      '/docs/swagger-ui.css',
      '/openapi.json',
      '/',
      '/favicon.ico',
      '/metrics',
      '/api',
      '/api/:org',
      '/mcp',
      '/.well-known/oauth-protected-resource',
    ),
    oddSegment.map((name) => `/api/:org/tools/${name}`),
    oddSegment.map((name) => `/docs/${name}`),
    oddSegment.map((name) => `/${name}`),
  );
  const methods = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('GET', 'POST') },
    { weight: 2, arbitrary: fc.constantFrom('PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'TRACE', 'PROPFIND') },
  );
  return stepOf(
    fc.tuple(paths, methods).map(([path, method]) => ({
      label: `${method} (undocumented)`,
      method,
      path,
      ...(method !== 'GET' && method !== 'HEAD' && { body: {} }),
    })),
  );
}
