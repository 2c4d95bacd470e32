import { applyDecorators } from '@nestjs/common';
import { ValidateBy } from 'class-validator';
import { suggestionFor } from '../closest-name.js';
import { isRecord } from '../is-record.js';
import { ANY, SELF, declaredPermissions, isDeclaredPermission } from '../permissions.js';
import { rule } from './rule.js';

const MAX_RESOURCES = 1000;
const MAX_TOOLS = 1000;
const MAX_NAME_LENGTH = 256;
/** Size of the whole map as JSON: the maps of all active keys are in memory. */
const MAX_BYTES = 32_768;

/** Checks that a property is a permission map: an object of resource name → array of tool names. */
export function IsPermissionMap(): PropertyDecorator {
  return applyDecorators(
    rule(
      'isPermissionMap',
      {
        type: 'object',
        additionalProperties: { type: 'array', items: { type: 'string', minLength: 1, maxLength: MAX_NAME_LENGTH } },
        description:
          '`self` → management tools; a connection id or agent id → tools; `*` as resource: every connection; ' +
          `\`*\` as tool: all tools. At most ${MAX_RESOURCES} resources, ${MAX_TOOLS} tools of each, and ` +
          `${MAX_BYTES} bytes of JSON.`,
      },
      isPermissionMap,
      `must be an object whose values are arrays of tool names, of at most ${MAX_BYTES} bytes`,
    ),
    ValidateBy({
      name: 'knownPermissions',
      validator: {
        validate: (value) => unknownPermissionsOf(value).length === 0,
        defaultMessage: (args) => describeUnknown(args?.value),
      },
    }),
  );
}

/**
 * The indexes in `self` of names that are neither a management tool nor another permission. The tools of connections
 * and agents are not checked: upstreams add and remove them at any time.
 */
function unknownPermissionsOf(value: unknown): number[] {
  if (!isPermissionMap(value)) return [];
  const names = (value as Record<string, string[]>)[SELF] ?? [];
  return names.flatMap((name, index) => (name === ANY || isDeclaredPermission(name) ? [] : [index]));
}

/** Names the place and not the value, as all messages about input. */
function describeUnknown(value: unknown): string {
  const [index = 0] = unknownPermissionsOf(value);
  const name = (value as Record<string, string[]>)[SELF]?.[index] ?? '';
  return (
    `the name at ${SELF}[${index}] is not a permission of management ` +
    `tools.${suggestionFor(name, declaredPermissions())}`
  );
}

function isPermissionMap(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= MAX_RESOURCES &&
    entries.every(([resource, tools]) => isName(resource) && isToolList(tools)) &&
    Buffer.byteLength(JSON.stringify(value)) <= MAX_BYTES
  );
}

function isToolList(tools: unknown): boolean {
  return Array.isArray(tools) && tools.length <= MAX_TOOLS && tools.every(isName);
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && name.length > 0 && name.length <= MAX_NAME_LENGTH && !name.includes('\u0000');
}
