import type { JsonSchema } from '../../core/validation/schema-of.js';

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

const UUID = '0198f0a0-0000-7000-8000-000000000001';
const TIME = '2026-11-23T08:30:00.000Z';
const BY_FORMAT: Readonly<Record<string, unknown>> = {
  uuid: UUID,
  'date-time': TIME,
  date: TIME,
  uri: 'https://example.com/',
  url: 'https://example.com/',
  email: 'ada@example.com',
};
const TEXTS = ['text', 'ticket-4711', UUID, TIME, 'https://example.com/', '10', 'a'];

interface ExampleOptions {
  /** The schema behind a reference. */
  resolve: (schema: JsonSchema) => JsonSchema;
  /** Leaves out what a request can leave out. */
  onlyRequired: boolean;
}

/** A value that fits the schema, for readers of the reference. @param name of the property that has the schema */
export function exampleOf(schema: JsonSchema, options: ExampleOptions, name = ''): unknown {
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
