import type { OpenAPIObject } from '@nestjs/swagger';
import type { JsonSchema } from '../../core/validation/schema-of.js';
import type { ComponentSchemas } from './component-schemas.js';

const THREAD_ID = 'ticket-4711';
const AGENT_ID = '0198f0a0-0000-7000-8000-000000000002';
const CONNECTION_ID = '0198f0a0-0000-7000-8000-000000000001';
const APPROVAL_ID = '01a1fc0f-ac13-7cb1-8f4e-5d9d3c1f7a20';
const FILE_ID = '01a1fc10-2f4e-7a61-9d0b-5b1d3a8c2e11';
const TASK_ID = '01a1fc0f-ac11-77b3-84e0-942cb7270dad';

/** Bodies by operation id, where one that is made from the schema would explain too little. */
const REQUEST_EXAMPLES: Readonly<Record<string, unknown>> = {
  COLLECTION_CONNECTIONS_CREATE: {
    data: { title: 'Search', connection_type: 'HTTP', connection_url: 'http://127.0.0.1:3001/mcp' },
  },
  ACCESS_TOOLS_LIST: { search: 'customer' },
  CONNECTION_TEST: { id: CONNECTION_ID },
  CONNECTION_TOOLS_DIFF: { id: CONNECTION_ID },
  CONNECTION_TOOLS_APPROVE: { id: CONNECTION_ID, tools: ['search'] },
  COLLECTION_VIRTUAL_MCP_CREATE: {
    data: { title: 'Helper', instructions: 'Be brief.', connections: [{ connection_id: CONNECTION_ID }] },
  },
  COLLECTION_THREADS_CREATE: { data: { id: THREAD_ID, title: 'Ticket 4711', virtual_mcp_id: AGENT_ID } },
  COLLECTION_THREADS_GET: { id: THREAD_ID },
  COLLECTION_THREAD_MESSAGES_LIST: { thread_id: THREAD_ID, order: 'desc', limit: 20 },
  COLLECTION_THREADS_LIST: {
    where: { field: ['status'], operator: 'eq', value: 'failed' },
    orderBy: [{ field: ['created_at'], direction: 'desc' }],
    limit: 20,
  },
  THREAD_STATS: {
    from: '2026-01-01T00:00:00Z',
    to: '2026-02-01T00:00:00Z',
    where: { field: ['text'], operator: 'matches', value: 'refund -test' },
  },
  RUN_GET: { id: TASK_ID },
  RUN_LIST: {
    where: {
      operator: 'and',
      conditions: [
        { field: ['question'], operator: 'matches', value: 'refund' },
        { field: ['tool'], operator: 'eq', value: 'search' },
        { field: ['created_at'], operator: 'gte', value: '2026-01-31T00:00:00Z' },
      ],
    },
    orderBy: [{ field: ['cost_usd'], direction: 'desc' }],
    limit: 20,
  },
  RUN_STATS: { where: { field: ['error_code'], operator: 'eq', value: 'model_provider_error' } },
  API_KEY_CREATE: {
    name: 'support-bot',
    expiresIn: 7_776_000,
    permissions: {
      self: ['COLLECTION_THREADS_CREATE', 'COLLECTION_THREADS_GET', 'COLLECTION_THREAD_MESSAGES_LIST', 'RUN_GET'],
    },
  },
  postMessage: {
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
    agent: { id: AGENT_ID },
  },
  steerRun: {
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'No, the other one' }] }],
    agent: { id: AGENT_ID },
  },
  regenerateAnswer: {},
  answerApproval: { approved: true },
  cancelRuns: { taskId: TASK_ID },
  createResponse: { model: AGENT_ID, input: 'Hello' },
  exportRecords: {
    records: 'calls',
    format: 'csv',
    where: { field: ['at'], operator: 'gte', value: '2026-01-31T00:00:00Z' },
  },
  sendToConnection: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  sendToAgent: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  sendToManagementTools: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  callTool: { message: 'hi' },
};

/** Responses by operation id. */
const RESPONSE_EXAMPLES: Readonly<Record<string, unknown>> = {
  callTool: { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'Echo: hi' }] } },
};

/** A stream of an MCP endpoint; those of runs have an example already. */
const MCP_STREAM_EXAMPLE = 'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}\n\n';

/** Values of path parameters. */
const PARAMETER_EXAMPLES: Readonly<Record<string, string>> = {
  org: 'default',
  threadId: THREAD_ID,
  taskId: TASK_ID,
  connectionId: CONNECTION_ID,
  virtualMcpId: AGENT_ID,
  toolName: 'echo',
  approvalId: APPROVAL_ID,
  fileId: FILE_ID,
  responseId: `resp_${TASK_ID}`,
  model: AGENT_ID,
};

type Operation = NonNullable<OpenAPIObject['paths'][string]['post']>;
type Media = { schema?: JsonSchema; example?: unknown };
type Part = Operation['requestBody'] | Operation['responses'][string];

/** Adds an example to every body, response and path parameter that has none. */
export class OperationExamples {
  constructor(private readonly schemas: ComponentSchemas) {}

  addTo(operation: Operation): void {
    const { operationId = '', parameters = [], requestBody, responses } = operation;
    for (const parameter of parameters) {
      if ('in' in parameter && parameter.in === 'path') parameter.example = PARAMETER_EXAMPLES[parameter.name];
    }
    for (const [, media] of mediaOf(requestBody)) {
      media.example ??= REQUEST_EXAMPLES[operationId] ?? this.schemaExample(media.schema, true);
    }
    for (const [type, media] of Object.values(responses).flatMap(mediaOf)) {
      const known = type === 'application/json' ? RESPONSE_EXAMPLES[operationId] : MCP_STREAM_EXAMPLE;
      media.example ??= known ?? this.schemaExample(media.schema, false);
    }
  }

  private schemaExample(schema: JsonSchema = {}, onlyRequired: boolean): unknown {
    return exampleOf(schema, { resolve: (reference) => this.schemas.resolve(reference), onlyRequired });
  }
}

function mediaOf(part: Part): [type: string, media: Media][] {
  return part !== undefined && 'content' in part ? (Object.entries(part.content ?? {}) as [string, Media][]) : [];
}

/** Values of properties by name, for schemas that say less than a reader wants to see. The first that fits is taken. */
const BY_NAME: Readonly<Record<string, readonly unknown[]>> = {
  agent_ids: [['0198f0a0-0000-7000-8000-000000000002']],
  base_url: ['https://llm.example.com/v1'],
  command: ['npx'],
  connection_url: ['https://mcp.example.com/mcp'],
  cron: ['0 9 * * 1-5'],
  description: ['Looks things up.'],
  email: ['ada@example.com'],
  event: ['key.created', 'run.completed'],
  filename: ['part.png'],
  headers: [{ 'x-team': 'support' }],
  key: ['sbx_…'],
  media_type: ['image/png'],
  mcpServers: [{ everything: { command: 'npx', args: ['@modelcontextprotocol/server-everything'] } }],
  message: ['What is new?', null],
  metadata: [{ customer: '4711' }, {}],
  model: ['gpt-5', 'builtin/echo'],
  name: ['support-bot', 'API_KEY_LIST'],
  permissions: [{ self: ['COLLECTION_THREADS_GET', 'RUN_GET'] }, ['post', 'read']],
  member_permissions: [{ self: ['COLLECTION_THREADS_LIST'] }],
  redirect_uris: [['https://client.example.com/callback']],
  role: ['member', 'user'],
  sha256: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
  signed_url: ['/api/default/files/01a1fc10-2f4e-7a61-9d0b-5b1d3a8c2e11/content?expires=1795661413&signature=…'],
  slug: ['default'],
  thread_id: ['ticket-4711'],
  timezone: ['Europe/Berlin'],
  title: ['Support'],
  tool_name: ['echo'],
  url: ['https://hooks.example.com/signalbox'],
  where: [{ field: ['created_at'], operator: 'gte', value: '2026-11-01T00:00:00Z' }],
};

const TIME = '2026-11-23T08:30:00.000Z';
const BY_FORMAT: Readonly<Record<string, unknown>> = {
  uuid: CONNECTION_ID,
  'date-time': TIME,
  date: TIME,
  uri: 'https://example.com/',
  url: 'https://example.com/',
  email: 'ada@example.com',
};
const TEXTS = ['text', THREAD_ID, CONNECTION_ID, TIME, 'https://example.com/', '10', 'a'];

interface ExampleOptions {
  /** The schema behind a reference. */
  resolve: (schema: JsonSchema) => JsonSchema;
  /** Leaves out what a request can leave out. */
  onlyRequired: boolean;
}

/** A value that fits the schema, for readers of the reference. @param name of the property that has the schema */
function exampleOf(schema: JsonSchema, options: ExampleOptions, name = ''): unknown {
  const known = (BY_NAME[name] ?? []).find((value) => fits(schema, value, options));
  if (known !== undefined) return known;
  const plain = options.resolve(schema);
  const { const: fixed, enum: values, anyOf, oneOf, default: fallback } = plain;
  if (fixed !== undefined) return fixed;
  if (fallback !== undefined) return fallback;
  if (Array.isArray(values)) return values[0] as unknown;
  const choices = anyOf ?? oneOf;
  if (Array.isArray(choices)) return exampleOf((choices as JsonSchema[])[0] ?? {}, options, name);
  switch ([plain['type']].flat()[0]) {
    case 'object':
      return objectOf(plain, options);
    case 'array':
      return [exampleOf((plain['items'] ?? {}) as JsonSchema, options, name)].slice(0, Number(plain['maxItems'] ?? 1));
    case 'integer':
    case 'number':
      return Math.max(Number(plain['minimum'] ?? 1), Number(plain['exclusiveMinimum'] ?? -1) + 1);
    case 'boolean':
      return true;
    case 'string':
      return textOf(plain, options);
    default:
      return {};
  }
}

function objectOf(schema: JsonSchema, options: ExampleOptions): Record<string, unknown> {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, JsonSchema>;
    required?: readonly string[];
  };
  const shown = Object.entries(properties).filter(([name]) => !options.onlyRequired || required.includes(name));
  return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property, options, name)]));
}

function textOf(schema: JsonSchema, options: ExampleOptions): string {
  const { format } = schema;
  const formatted = typeof format === 'string' ? BY_FORMAT[format] : undefined;
  const candidates = [formatted, ...TEXTS, 'x'.repeat(Number(schema['minLength'] ?? 0))];
  return (candidates.find((text) => text !== undefined && fits(schema, text, options)) ?? 'text') as string;
}

/**
 * True if the value fits the schema, by the keywords that our schemas use. A test validates the examples with a
 * complete validator.
 */
function fits(schema: JsonSchema, value: unknown, options: ExampleOptions): boolean {
  const plain = options.resolve(schema);
  const { const: fixed, enum: values, anyOf, oneOf, type } = plain;
  const choices = anyOf ?? oneOf;
  if (Array.isArray(choices)) return choices.some((choice) => fits(choice as JsonSchema, value, options));
  if (fixed !== undefined && fixed !== value) return false;
  if (Array.isArray(values) && !values.includes(value)) return false;
  if (type !== undefined && ![type].flat().includes(typeOf(value))) return false;
  if (typeof value === 'string') return fitsText(plain, value);
  if (Array.isArray(value)) {
    return value.every((item) => fits((plain['items'] ?? {}) as JsonSchema, item, options));
  }
  if (typeof value !== 'object' || value === null) return true;
  const {
    properties = {},
    required = [],
    additionalProperties: others = true,
  } = plain as {
    properties?: Record<string, JsonSchema>;
    required?: readonly string[];
    additionalProperties?: boolean | JsonSchema;
  };
  if (!required.every((name) => name in value)) return false;
  return Object.entries(value).every(([name, member]) => {
    const property = properties[name] ?? others;
    return typeof property === 'boolean' ? property : fits(property, member, options);
  });
}

function fitsText(schema: JsonSchema, text: string): boolean {
  const { pattern, format, minLength = 0, maxLength = Infinity } = schema;
  if (text.length < Number(minLength) || text.length > Number(maxLength)) return false;
  if (typeof format === 'string' && format in BY_FORMAT && text !== BY_FORMAT[format]) return false;
  return typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
