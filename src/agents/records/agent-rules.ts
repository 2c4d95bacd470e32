import { isRecord } from '../../core/is-record.js';
import { type PropertySchema, rule } from '../../core/validation/rule.js';
import { type SelectedTool, wantedNameOf } from './agent.js';
import { exceededLimit, type JsonLimits } from '../../core/json-size.js';

const MAX_SELECTED_TOOLS = 1000;
const MAX_DESCRIPTION_LENGTH = 10_000;
/** Fixed and hidden arguments of one tool, each. */
const MAX_ARGUMENTS = 100;
const MAX_PATH_LENGTH = 512;
/** Text that `jsonb` can store: no NUL, no unpaired surrogate. */
const TOOL_NAME = /^[^\x00]{1,256}$/u;
/** A name that the models of all providers accept. */
const DRESSED_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** A JSON Pointer of 1 to 8 names (RFC 6901). */
const PATH = /^(?:\/(?:[^~/]|~[01])*){1,8}$/u;

const PATH_SCHEMA: PropertySchema = { type: 'string', pattern: PATH.source, maxLength: MAX_PATH_LENGTH };
const DRESSED_SCHEMA: PropertySchema = {
  type: 'object',
  properties: {
    tool: { type: 'string', minLength: 1, maxLength: 256 },
    name: { type: 'string', pattern: DRESSED_NAME.source },
    description: { type: 'string', maxLength: MAX_DESCRIPTION_LENGTH },
    arguments: {
      type: 'object',
      properties: {
        fixed: { type: 'object', maxProperties: MAX_ARGUMENTS, additionalProperties: true },
        hidden: { type: 'array', items: PATH_SCHEMA, maxItems: MAX_ARGUMENTS, uniqueItems: true },
      },
      additionalProperties: false,
    },
  },
  required: ['tool'],
  additionalProperties: false,
};

/** Names of tools, and tools as an agent dresses them, under different names. */
export function IsSelectedTools(): PropertyDecorator {
  return rule(
    'isSelectedTools',
    {
      type: 'array',
      items: { anyOf: [{ type: 'string', minLength: 1, maxLength: 256 }, DRESSED_SCHEMA] },
      maxItems: MAX_SELECTED_TOOLS,
    },
    (value) => faultOf(value) === undefined,
    (value) => faultOf(value) ?? '',
  );
}

/** What is wrong with a list of selected tools, in a sentence; undefined if nothing is. */
function faultOf(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length > MAX_SELECTED_TOOLS) {
    return `must be a list of at most ${MAX_SELECTED_TOOLS} tools`;
  }
  const names = new Set<string>();
  for (const [index, selected] of value.entries()) {
    const fault = faultOfTool(selected);
    if (fault !== undefined) return `the tool at [${index}] ${fault}`;
    const name = wantedNameOf(selected as SelectedTool);
    if (names.has(name)) return `the tool at [${index}] has the same name as an earlier one`;
    names.add(name);
  }
  return undefined;
}

function faultOfTool(selected: unknown): string | undefined {
  if (isToolName(selected)) return undefined;
  if (!isRecord(selected)) return 'must be a name of 1 to 256 characters, or an object';
  const { tool, name, description, arguments: args, ...others } = selected;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `has the unknown property "${unknown}"`;
  if (!isToolName(tool)) return 'needs a `tool` of 1 to 256 characters';
  if (name !== undefined && !(typeof name === 'string' && DRESSED_NAME.test(name))) {
    return 'needs a `name` of 1 to 64 of A-Z, a-z, 0-9, _ and -';
  }
  const isText = typeof description === 'string' && description.length <= MAX_DESCRIPTION_LENGTH;
  if (description !== undefined && !isText) {
    return `needs a \`description\` of at most ${MAX_DESCRIPTION_LENGTH} characters`;
  }
  return args === undefined ? undefined : faultOfArguments(args);
}

function faultOfArguments(args: unknown): string | undefined {
  if (!isRecord(args)) return 'needs an object as `arguments`';
  const { fixed = {}, hidden = [], ...others } = args;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `has the unknown property "arguments.${unknown}"`;
  if (!isRecord(fixed)) return 'needs an object of values by path as `arguments.fixed`';
  if (!Array.isArray(hidden)) return 'needs a list of paths as `arguments.hidden`';
  const groups = [Object.keys(fixed), hidden as unknown[]];
  if (groups.some(({ length }) => length > MAX_ARGUMENTS)) {
    return `can fix and hide at most ${MAX_ARGUMENTS} arguments each`;
  }
  const paths = groups.flat();
  if (!paths.every(isPath)) return 'needs JSON Pointers of 1 to 8 names as paths, such as "/filter/repo"';
  if (new Set(hidden).size < hidden.length) return 'hides an argument twice';
  const inner = paths.find((path) => paths.some((other) => path.startsWith(`${other}/`)));
  return inner === undefined ? undefined : `has the path "${inner}" inside another of its paths`;
}

function isToolName(name: unknown): name is string {
  return typeof name === 'string' && TOOL_NAME.test(name);
}

function isPath(path: unknown): path is string {
  return typeof path === 'string' && path.length <= MAX_PATH_LENGTH && PATH.test(path);
}

const APPROVAL_WORDS: readonly unknown[] = ['none', 'destructive', 'all'];
const MAX_APPROVAL_TOOLS = 1000;

/** An `ApprovalRule`: one of its words, or a list of tools. */
export function IsApprovalRule(): PropertyDecorator {
  return rule(
    'isApprovalRule',
    {
      anyOf: [
        { type: 'string', enum: [...APPROVAL_WORDS] },
        {
          type: 'array',
          items: { type: 'string', minLength: 1, maxLength: 256 },
          maxItems: MAX_APPROVAL_TOOLS,
          uniqueItems: true,
        },
      ],
    },
    isApprovalRule,
    `must be none, destructive, all, or a list of at most ${MAX_APPROVAL_TOOLS} different names of tools`,
  );
}

function isApprovalRule(value: unknown): boolean {
  if (!Array.isArray(value)) return APPROVAL_WORDS.includes(value);
  const isEachName = value.every((name) => typeof name === 'string' && TOOL_NAME.test(name));
  return isEachName && value.length <= MAX_APPROVAL_TOOLS && new Set(value).size === value.length;
}

/** Of an output schema, as JSON text. */
const MAX_SCHEMA_BYTES = 65_536;
/** Makes the schema safe to serialize. */
const SCHEMA_LIMITS: JsonLimits = { nodes: MAX_SCHEMA_BYTES, depth: 100, characters: MAX_SCHEMA_BYTES };

/** The schema of an agent's answers. Whether it can be used is checked elsewhere. */
export function IsOutputSchema(): PropertyDecorator {
  return rule(
    'isOutputSchema',
    {
      type: 'object',
      required: ['type'],
      properties: { type: { type: 'string', enum: ['object'] } },
      additionalProperties: true,
    },
    isOutputSchema,
    `must be a JSON Schema whose type is "object", of at most ${MAX_SCHEMA_BYTES} bytes of JSON`,
  );
}

function isOutputSchema(value: unknown): boolean {
  if (!isRecord(value) || value['type'] !== 'object' || exceededLimit(value, SCHEMA_LIMITS) !== undefined) return false;
  return Buffer.byteLength(JSON.stringify(value)) <= MAX_SCHEMA_BYTES;
}
