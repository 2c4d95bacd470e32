import { plainToInstance } from 'class-transformer';
import { type ValidationError, validateSync } from 'class-validator';
import { DomainError, type FieldError } from '../domain-error.js';
import { isRecord } from '../is-record.js';

/** The open maps of input classes, by the prototype of the class. */
const openMaps = new WeakMap<object, Set<string>>();
const NONE: ReadonlySet<string> = new Set();

/**
 * Takes the property as it was parsed: a map whose names callers choose, which can also be those that every object
 * inherits, such as `toString`. Only for properties of the body itself; what reads the map must use own properties
 * only.
 */
export function OpenMap(): PropertyDecorator {
  return (target, property) => {
    const names = openMaps.get(target) ?? new Set();
    openMaps.set(target, names.add(String(property)));
  };
}

/** The names of the open maps of an input class. */
function openMapsOf(type: new () => object): ReadonlySet<string> {
  return openMaps.get(type.prototype as object) ?? NONE;
}

/** A class whose instances describe an input through class-validator decorators. */
export type InputClass<T extends object = object> = new () => T;

const UNKNOWN_PROPERTY = { code: 'unknown_property', message: 'This property is not accepted.' };
const REQUIRED = { code: 'required', message: 'This property is required.' };
const NESTED_LIST = { code: 'nested_list', message: 'A list must not contain another list directly.' };

/**
 * Turns a parsed JSON body into a validated instance of the input class. Types are never coerced, and unknown
 * properties are refused at every level.
 * @throws DomainError `invalid_request` with one entry per fault: its path, the rule it broke and a sentence
 */
export function validateInput<T extends object>(type: InputClass<T>, body: unknown): T {
  const { value, faults } = inspectInput(type, body);
  if (faults.length > 0) throw new DomainError('invalid_request', summarize(faults), faults);
  return value;
}

/**
 * The same for the arguments of a tool.
 * @throws DomainError `invalid_arguments`
 */
export function validateArguments<T extends object>(type: InputClass<T>, args: unknown = {}): T {
  const { value, faults } = inspectInput(type, args);
  if (faults.length > 0) throw new DomainError('invalid_arguments', summarize(faults), faults);
  return value;
}

/** The same without throwing, for callers that respond with their own codes. */
export function inspectInput<T extends object>(type: InputClass<T>, body: unknown): { value: T; faults: FieldError[] } {
  if (!isRecord(body)) {
    const fault = { path: '', code: 'is_object', message: 'The body must be a JSON object.' };
    return { value: new type(), faults: [fault] };
  }
  const openMaps = openMapsOf(type);
  const unusable = findUnusable(body, '', openMaps);
  if (unusable !== undefined) return { value: new type(), faults: [unusable] };
  const members = Object.entries(body);
  const described = Object.fromEntries(members.filter(([name]) => !openMaps.has(name)));
  const value = plainToInstance(type, described, { enableImplicitConversion: false });
  Object.assign(value, Object.fromEntries(members.filter(([name]) => openMaps.has(name))));
  const errors = validateSync(value, { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: false });
  return { value, faults: errors.flatMap((error) => flatten(error, '')) };
}

/** One sentence for the `detail` of the problem document: what is missing says best what was expected. */
export function summarize(faults: readonly FieldError[]): string {
  const first = faults.find(({ code }) => code === REQUIRED.code) ?? faults[0];
  if (first === undefined) return 'The request is not valid.';
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return first.path === '' ? `${first.message}${more}` : `${first.path}: ${first.message}${more}`;
}

function flatten(error: ValidationError, parent: string): FieldError[] {
  const path = joinPath(parent, error.property);
  // A missing value breaks every rule, which says nothing more.
  if (error.value === undefined && !isUnknown(error)) return [{ path, ...REQUIRED }];
  if (isUnknown(error)) return [{ path, ...UNKNOWN_PROPERTY }];
  const own = Object.entries(error.constraints ?? {}).map(([rule, message]) => ({
    path,
    code: snakeCase(rule),
    message: sentence(message),
  }));
  return [...own, ...(error.children ?? []).flatMap((child) => flatten(child, path))];
}

function isUnknown({ constraints = {} }: ValidationError): boolean {
  return 'whitelistValidation' in constraints;
}

/**
 * The first value that no input can contain: U+0000 or an unpaired surrogate, which PostgreSQL cannot store; a property
 * named like an inherited member of every object, which class-transformer would drop silently; or a list directly in a
 * list, whose items class-validator would attribute to the outer list. The depth of bodies is limited where they are
 * parsed.
 * @param openMaps the members that class-transformer does not read
 * @param isOpen true if the value is within such a member
 */
function findUnusable(
  value: unknown,
  path: string,
  openMaps: ReadonlySet<string> = new Set(),
  isOpen = false,
): FieldError | undefined {
  if (typeof value === 'string') return faultOfText(value, path);
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const memberPath = joinPath(path, name);
    if (!isOpen && name in Object.prototype) return { path: memberPath, ...UNKNOWN_PROPERTY };
    if (Array.isArray(value) && Array.isArray(member)) return { path: memberPath, ...NESTED_LIST };
    const found = faultOfText(name, path) ?? findUnusable(member, memberPath, undefined, isOpen || openMaps.has(name));
    if (found !== undefined) return found;
  }
  return undefined;
}

function faultOfText(text: string, path: string): FieldError | undefined {
  if (text.includes('\u0000')) return { path, code: 'nul_character', message: 'Text must not contain NUL characters.' };
  if (!text.isWellFormed()) return { path, code: 'unpaired_surrogate', message: 'Text must be well-formed Unicode.' };
  return undefined;
}

function joinPath(parent: string, property: string): string {
  if (/^\d+$/.test(property)) return `${parent}[${property}]`;
  return parent === '' ? property : `${parent}.${property}`;
}

function snakeCase(rule: string): string {
  return rule.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.?]$/.test(text) ? text : `${text}.`;
}
