import { type AnySchemaObject, Ajv2020 } from 'ajv/dist/2020.js';

/**
 * What Open Responses of 2026-04-24 wants of responses, items and events, as far as the service sends them, in a table
 * of its own. Where the document has nothing (calls of MCP tools, approvals, input items, the conversation) or OpenAI's
 * client differs (`error` events), the shapes are those of that client, version 7. A member that is not listed is a
 * fault: it would be one that nobody has looked up.
 */
const TEXT = { type: 'string' };
const INTEGER = { type: 'integer' };
const NUMBER = { type: 'number' };
const FLAG = { type: 'boolean' };
const NOTHING = { type: 'null' };
const EMPTY = { type: 'array', maxItems: 0 };
const ITEM_STATUS = oneOf('in_progress', 'completed', 'incomplete');

function oneOf(...values: string[]): AnySchemaObject {
  return { type: 'string', enum: values };
}

function orNull(schema: AnySchemaObject): AnySchemaObject {
  return { anyOf: [schema, NOTHING] };
}

function listOf(...kinds: AnySchemaObject[]): AnySchemaObject {
  return { type: 'array', items: kindOf(kinds) };
}

/** One of these objects, told apart by its `type`, so that a fault names the member and not the alternatives. */
function kindOf(kinds: AnySchemaObject[]): AnySchemaObject {
  return { type: 'object', discriminator: { propertyName: 'type' }, required: ['type'], oneOf: kinds };
}

/** An object with these members, and no others. Those whose name ends with `?` can be absent. */
function object(members: Record<string, AnySchemaObject>): AnySchemaObject {
  const names = Object.keys(members);
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name.replace('?', ''), members[name]])),
    required: names.filter((name) => !name.endsWith('?')),
    additionalProperties: false,
  };
}

function typed(type: string, members: Record<string, AnySchemaObject>): AnySchemaObject {
  return object({ type: { const: type }, ...members });
}

const OUTPUT_TEXT = typed('output_text', { text: TEXT, annotations: EMPTY, logprobs: EMPTY });
const SUMMARY_TEXT = typed('summary_text', { text: TEXT });

const MESSAGE = typed('message', {
  id: TEXT,
  status: ITEM_STATUS,
  role: { const: 'assistant' },
  content: listOf(OUTPUT_TEXT),
});
/** The status is one of the client's. */
const REASONING = typed('reasoning', { id: TEXT, status: ITEM_STATUS, summary: listOf(SUMMARY_TEXT) });
const CALL = typed('mcp_call', {
  id: TEXT,
  name: TEXT,
  server_label: TEXT,
  arguments: TEXT,
  status: oneOf('in_progress', 'completed', 'incomplete', 'failed'),
  output: orNull(TEXT),
  error: orNull(typed('mcp_tool_execution_error', { content: listOf(typed('text', { text: TEXT })) })),
  approval_request_id: orNull(TEXT),
});
const APPROVAL_REQUEST = typed('mcp_approval_request', { id: TEXT, name: TEXT, server_label: TEXT, arguments: TEXT });
const ITEM = kindOf([MESSAGE, REASONING, CALL, APPROVAL_REQUEST]);

const USAGE = object({
  input_tokens: INTEGER,
  output_tokens: INTEGER,
  total_tokens: INTEGER,
  input_tokens_details: object({ cached_tokens: INTEGER }),
  output_tokens_details: object({ reasoning_tokens: INTEGER }),
});

/** A member that only responses with this status have. */
function onlyIf(status: string, member: string, schema: AnySchemaObject): AnySchemaObject {
  return {
    anyOf: [
      { properties: { status: { const: status }, [member]: schema } },
      { properties: { status: { not: { const: status } }, [member]: NOTHING } },
    ],
  };
}

const RESPONSE = {
  ...object({
    id: { type: 'string', pattern: '^resp_' },
    object: { const: 'response' },
    created_at: INTEGER,
    completed_at: orNull(INTEGER),
    status: oneOf('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
    incomplete_details: orNull(object({ reason: oneOf('max_output_tokens', 'content_filter') })),
    model: TEXT,
    previous_response_id: orNull(TEXT),
    instructions: orNull(TEXT),
    output: { type: 'array', items: ITEM },
    // The document has no type here, the client has one.
    error: orNull(object({ type: TEXT, code: TEXT, message: TEXT })),
    tools: EMPTY,
    tool_choice: oneOf('none', 'auto', 'required'),
    truncation: oneOf('auto', 'disabled'),
    parallel_tool_calls: FLAG,
    text: object({ format: typed('text', {}) }),
    top_p: NUMBER,
    presence_penalty: NUMBER,
    frequency_penalty: NUMBER,
    top_logprobs: INTEGER,
    temperature: NUMBER,
    reasoning: NOTHING,
    usage: orNull(USAGE),
    max_output_tokens: orNull(INTEGER),
    max_tool_calls: orNull(INTEGER),
    store: FLAG,
    background: FLAG,
    service_tier: TEXT,
    metadata: { type: 'object', additionalProperties: TEXT },
    safety_identifier: orNull(TEXT),
    prompt_cache_key: orNull(TEXT),
    conversation: object({ id: TEXT }),
  }),
  allOf: [
    onlyIf('completed', 'completed_at', INTEGER),
    onlyIf('failed', 'error', { type: 'object' }),
    onlyIf('incomplete', 'incomplete_details', { type: 'object' }),
  ],
};

const OF_RESPONSE = { response: RESPONSE };
const OF_ITEM = { output_index: INTEGER, item: ITEM };
const ABOUT_ITEM = { item_id: TEXT, output_index: INTEGER };
const ABOUT_TEXT = { ...ABOUT_ITEM, content_index: INTEGER };
const ABOUT_SUMMARY = { ...ABOUT_ITEM, summary_index: INTEGER };

const EVENTS: Readonly<Record<string, Record<string, AnySchemaObject>>> = {
  'response.created': OF_RESPONSE,
  'response.in_progress': OF_RESPONSE,
  'response.completed': OF_RESPONSE,
  'response.failed': OF_RESPONSE,
  'response.incomplete': OF_RESPONSE,
  'response.output_item.added': OF_ITEM,
  'response.output_item.done': OF_ITEM,
  'response.content_part.added': { ...ABOUT_TEXT, part: OUTPUT_TEXT },
  'response.content_part.done': { ...ABOUT_TEXT, part: OUTPUT_TEXT },
  'response.output_text.delta': { ...ABOUT_TEXT, delta: TEXT, logprobs: EMPTY },
  'response.output_text.done': { ...ABOUT_TEXT, text: TEXT, logprobs: EMPTY },
  'response.reasoning_summary_part.added': { ...ABOUT_SUMMARY, part: SUMMARY_TEXT },
  'response.reasoning_summary_part.done': { ...ABOUT_SUMMARY, part: SUMMARY_TEXT },
  'response.reasoning_summary_text.delta': { ...ABOUT_SUMMARY, delta: TEXT },
  'response.reasoning_summary_text.done': { ...ABOUT_SUMMARY, text: TEXT },
  'response.mcp_call_arguments.delta': { ...ABOUT_ITEM, delta: TEXT },
  'response.mcp_call_arguments.done': { ...ABOUT_ITEM, arguments: TEXT },
  'response.mcp_call.in_progress': ABOUT_ITEM,
  'response.mcp_call.completed': ABOUT_ITEM,
  'response.mcp_call.failed': ABOUT_ITEM,
  error: { code: orNull(TEXT), message: TEXT, param: orNull(TEXT) },
};

const INPUT_MESSAGE = typed('message', {
  id: TEXT,
  role: oneOf('user', 'system', 'developer'),
  status: ITEM_STATUS,
  content: listOf(
    typed('input_text', { text: TEXT }),
    typed('input_image', { image_url: TEXT, detail: oneOf('low', 'high', 'auto') }),
    typed('input_file', { file_url: TEXT, 'filename?': TEXT }),
  ),
});
const APPROVAL_RESPONSE = typed('mcp_approval_response', {
  id: TEXT,
  approval_request_id: TEXT,
  approve: FLAG,
  reason: orNull(TEXT),
});
const MODEL = object({ id: TEXT, object: { const: 'model' }, created: INTEGER, owned_by: TEXT, slug: TEXT });

const SHAPES = {
  response: RESPONSE,
  event: kindOf(Object.entries(EVENTS).map(([type, members]) => typed(type, { sequence_number: INTEGER, ...members }))),
  inputItems: object({
    object: { const: 'list' },
    data: listOf(INPUT_MESSAGE, APPROVAL_RESPONSE),
    first_id: orNull(TEXT),
    last_id: orNull(TEXT),
    has_more: FLAG,
  }),
  deleted: object({ id: TEXT, object: { const: 'response' }, deleted: { const: true } }),
  model: MODEL,
  models: object({ object: { const: 'list' }, data: { type: 'array', items: MODEL } }),
  error: object({ error: object({ message: TEXT, type: TEXT, code: TEXT, param: orNull(TEXT) }) }),
};

export type ShapeName = keyof typeof SHAPES;

const ajv = new Ajv2020({ strict: false, discriminator: true });
const validators = new Map(Object.entries(SHAPES).map(([name, schema]) => [name, ajv.compile(schema)]));

/** What is wrong with a value; undefined if it has the shape. */
export function faultOf(shape: ShapeName, value: unknown): string | undefined {
  const validate = validators.get(shape);
  if (validate === undefined) throw new Error(`There is no shape ${shape}.`);
  if (validate(value)) return undefined;
  return `${ajv.errorsText(validate.errors, { dataVar: shape })} in ${JSON.stringify(value).slice(0, 500)}`;
}
