import { isRecord } from '../../core/is-record.js';
import { DomainError, type FieldError } from '../../core/domain-error.js';
import { memberRange, withMember } from '../../core/json/json-member.js';
import { refusalOf, verdictOn } from '../../upstreams/arguments/argument-checker.js';
import type { ArgumentPath, DressedArguments, ToolDressing } from './tool-dressing.js';

/**
 * Why a caller cannot send these arguments to a dressed tool: they contain a covered argument, or the dressing does not
 * fit the tool. Undefined if they can be sent once the fixed ones are put in.
 */
export function refusalOfArguments({ covered, misfit }: ToolDressing, args: unknown): DomainError | undefined {
  if (misfit !== undefined) return new DomainError('tool_schema_invalid', misfit);
  const faults = isRecord(args)
    ? covered.flatMap((path) => faultAt(args, path) ?? [])
    : [{ path: '', code: 'type', message: 'must be object' }];
  return refusalOf(verdictOn(faults));
}

/** Servers that match names case-insensitively would take a variant of a covered name for the argument itself. */
function faultAt(args: Record<string, unknown>, path: ArgumentPath): FieldError | undefined {
  let at = args;
  for (const [depth, name] of path.entries()) {
    const isLast = depth === path.length - 1;
    const passed = path.slice(0, depth);
    const refused = Object.keys(at).find((key) => isVariant(key, name) && (isLast || key !== name));
    if (refused !== undefined) {
      return { path: [...passed, refused].join('.'), code: 'additional_properties', message: 'is not accepted' };
    }
    const next = Object.hasOwn(at, name) ? at[name] : undefined;
    if (next === undefined) return undefined;
    if (!isRecord(next)) return { path: [...passed, name].join('.'), code: 'type', message: 'must be object' };
    at = next;
  }
  return undefined;
}

function isVariant(key: string, name: string): boolean {
  return key === name || folded(key) === folded(name);
}

/** Both cases: `ſ` maps to `S` only in upper case, the Kelvin sign to `k` only in lower case. */
function folded(key: string): string {
  return key.toUpperCase().toLowerCase();
}

/** The arguments with the fixed ones put in. @param args not refused by `refusalOfArguments` */
export function fillArguments({ fixed }: DressedArguments, args: Record<string, unknown>): Record<string, unknown> {
  return fixed.reduce((filled, { path, value }) => withValue(filled, path, value), args);
}

function withValue(
  target: Record<string, unknown>,
  [name = '', ...rest]: ArgumentPath,
  value: unknown,
): Record<string, unknown> {
  const inner = Object.hasOwn(target, name) ? target[name] : undefined;
  return { ...target, [name]: rest.length === 0 ? value : withValue(isRecord(inner) ? inner : {}, rest, value) };
}

/**
 * The JSON text of a `tools/call` request with the fixed arguments put in. All other text stays as it is, including
 * numbers beyond double precision.
 * @param request of which no object has a key twice, and whose arguments are not refused by `refusalOfArguments`
 */
export function fillRequestText({ fixed }: DressedArguments, request: string): string {
  return fixed.reduce(
    (text, { path, value }) => withValueText(text, 0, ['params', 'arguments', ...path], JSON.stringify(value)),
    request,
  );
}

/** @param start the index of the object's brace */
function withValueText(text: string, start: number, [name = '', ...rest]: ArgumentPath, value: string): string {
  if (rest.length === 0) return withMember(text, start, name, value);
  const range = memberRange(text, start, name);
  if (range !== undefined && text[range.start] === '{') return withValueText(text, range.start, rest, value);
  const nested = rest.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, value);
  return withMember(text, start, name, nested);
}
