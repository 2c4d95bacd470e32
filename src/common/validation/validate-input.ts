import { plainToInstance } from 'class-transformer';
import { type ValidationError, validateSync } from 'class-validator';
import { DomainError, type FieldError } from '../domain-error.js';

/** A class whose instances describe an input through class-validator decorators. */
export type InputClass<T extends object = object> = new () => T;

/**
 * Turns a parsed JSON body into a checked instance of the input class. Types are never coerced and unknown properties are
 * refused at every level.
 * @throws DomainError `invalid_request` with one entry per fault: its path, the rule it broke and a sentence
 */
export function validateInput<T extends object>(type: InputClass<T>, body: unknown): T {
  const { value, faults } = inspectInput(type, body);
  if (faults.length > 0) throw new DomainError('invalid_request', summarize(faults), faults);
  return value;
}

/** The same without throwing, for callers that answer with codes of their own. */
export function inspectInput<T extends object>(type: InputClass<T>, body: unknown): { value: T; faults: FieldError[] } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const fault = { path: '', code: 'is_object', message: 'The body must be a JSON object.' };
    return { value: new type(), faults: [fault] };
  }
  const nul = pathOfNul(body, '');
  if (nul !== undefined) {
    const fault = { path: nul, code: 'nul_character', message: 'Text must not hold the NUL character.' };
    return { value: new type(), faults: [fault] };
  }
  const value = plainToInstance(type, body, { enableImplicitConversion: false });
  const errors = validateSync(value, { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: false });
  return { value, faults: errors.flatMap((error) => flatten(error, '')) };
}

/** One sentence for the document's `detail`. */
export function summarize(faults: readonly FieldError[]): string {
  const first = faults[0];
  if (first === undefined) return 'The request is not valid.';
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return first.path === '' ? `${first.message}${more}` : `${first.path}: ${first.message}${more}`;
}

function flatten(error: ValidationError, parent: string): FieldError[] {
  const path = joinPath(parent, error.property);
  const own = Object.entries(error.constraints ?? {}).map(([rule, message]) => ({
    path,
    code: rule === 'whitelistValidation' ? 'unknown_property' : snakeCase(rule),
    message: rule === 'whitelistValidation' ? 'This property is not accepted.' : sentence(message),
  }));
  return [...own, ...(error.children ?? []).flatMap((child) => flatten(child, path))];
}

/** Where the body holds U+0000, which PostgreSQL cannot store. The depth of bodies is bounded where they are parsed. */
function pathOfNul(value: unknown, path: string): string | undefined {
  if (typeof value === 'string') return value.includes('\u0000') ? path : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    if (name.includes('\u0000')) return path;
    const found = pathOfNul(member, joinPath(path, name));
    if (found !== undefined) return found;
  }
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
  return text.endsWith('.') ? text : `${text}.`;
}
