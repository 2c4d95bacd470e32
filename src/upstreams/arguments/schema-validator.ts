import { Ajv, MissingRefError, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { fastFormats } from 'ajv-formats/dist/formats.js';
import type { FieldError } from '../../core/domain-error.js';

// Imports only packages and types, because the worker thread loads this file directly, in `dist` and under Jest.

/** Returns the faults of the arguments; an empty list if they are valid. */
export type Validate = (args: unknown) => readonly FieldError[];

/** The formats that are asserted, because each is tested in linear time. Every other format is an annotation. */
export const ASSERTED_FORMATS = [
  'date',
  'date-time',
  'time',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uri',
  'uuid',
] as const;

const MAX_FAULTS = 20;
const LONGEST_TEXT = 300;

const OPTIONS: Options = {
  strict: false,
  logger: false,
  // JSON has neither `NaN` nor infinity.
  strictNumbers: true,
  // A schema must see only what the caller sent: `{}` has no property `constructor`.
  ownProperties: true,
  // 19.99 is a multiple of 0.01, despite floating-point division.
  multipleOfPrecision: 9,
  formats: Object.fromEntries(ASSERTED_FORMATS.map((name) => [name, fastFormats[name]])),
  // Ajv's optimizer costs more than it saves, and drops variables that are in use (`items0 is not defined`).
  code: { optimize: false, regExp: Object.assign(lenientRegExp, { code: 'new RegExp' }) },
};

/** These check schemas against the meta-schema of their draft; they keep no state of a checked schema. */
const draft7 = new Ajv(OPTIONS);
const draft2020 = new Ajv2020(OPTIONS);

/** Compiles a plain form (see `plain-form.ts`), which needs no meta-schema and means the same in every draft. */
export function compilePlain(form: object): Validate {
  return validatorOf((allErrors) =>
    ownFormats(new Ajv({ ...OPTIONS, meta: false, validateSchema: false, allErrors })).compile(form),
  );
}

/**
 * Compiles any schema. `$schema` selects the draft: draft-07 and older, or 2020-12. Without one of these, the draft is
 * 2020-12, the default of MCP since 2025-11-25, or draft-07 if the schema is valid only as that, which is what servers
 * of the older revisions mean. A `$ref` is never fetched.
 * @throws Error with a message that describes the fault of the schema
 */
export function compileSchema(schema: unknown): Validate {
  const own = withoutDialect(schema);
  const meta = draftOf(schema, own);
  if (meta.validateSchema(own) !== true) {
    throw new Error(`it is not JSON Schema: ${meta.errorsText(meta.errors, { dataVar: 'schema' })}`);
  }

  return validatorOf((allErrors) => {
    // A fresh instance for each schema: `$id`s of one must not answer the `$ref`s of another.
    const options = { ...OPTIONS, validateSchema: false, allErrors };
    const ajv = ownFormats(meta === draft2020 ? new Ajv2020(options) : new Ajv(options));
    // An old form of `$id`, which Ajv rejects and both drafts ignore.
    ajv.removeKeyword('id');
    return compiled(ajv, own);
  });
}

/** A second validator, compiled for the first invalid arguments, finds all faults. */
function validatorOf(compile: (allErrors: boolean) => ValidateFunction): Validate {
  const quick = compile(false);
  let thorough: ValidateFunction | undefined;
  return (args) => {
    if (quick(args)) return [];
    thorough ??= compile(true);
    thorough(args);
    return faultsOf(thorough.errors ?? quick.errors);
  };
}

function draftOf(schema: unknown, own: object | boolean): Ajv {
  const named = typeof schema === 'object' && schema !== null && '$schema' in schema ? schema.$schema : undefined;
  if (named === 'https://json-schema.org/draft/2020-12/schema') return draft2020;
  if (typeof named === 'string' && /^https?:\/\/json-schema\.org\/draft-0[4-7]\/schema#?$/.test(named)) return draft7;
  return draft2020.validateSchema(own) !== true && draft7.validateSchema(own) === true ? draft7 : draft2020;
}

function compiled(ajv: Ajv, schema: object | boolean): ValidateFunction {
  try {
    return ajv.compile(schema);
  } catch (error) {
    if (error instanceof MissingRefError)
      throw new Error('it refers to a schema that is not part of it', { cause: error });
    if (error instanceof RangeError)
      throw new Error('it refers to itself without end, or is too large', { cause: error });
    throw error;
  }
}

/** Removes the prototype of the formats, so that the format `constructor` is unknown instead of an inherited member. */
function ownFormats<T extends Ajv>(ajv: T): T {
  Object.setPrototypeOf(ajv.formats, null);
  return ajv;
}

/** JSON Schema requires Unicode patterns, but many servers use patterns that are valid only without the flag. */
function lenientRegExp(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return new RegExp(pattern);
  }
}

/**
 * Returns a copy without Ajv's extensions that would cause errors: `$async`, and `nullable` without a `type`. It also
 * omits `$schema`, because the draft has been selected.
 */
function withoutDialect(schema: unknown): object | boolean {
  if (typeof schema === 'boolean') return schema;
  const text = JSON.stringify(schema, function (this: Record<string, unknown>, key, value: unknown) {
    if (key === '$schema' && typeof value === 'string') return undefined;
    if (key === '$async' && typeof value === 'boolean') return undefined;
    if (key === 'nullable' && typeof value === 'boolean' && this['type'] === undefined) return undefined;
    return value;
  });
  return JSON.parse(text) as object;
}

function faultsOf(errors: readonly ErrorObject[] | null | undefined): FieldError[] {
  return (errors ?? []).slice(0, MAX_FAULTS).map((error) => ({
    path: bounded(pathOf(error)),
    code: snakeCase(error.keyword),
    message: bounded(messageOf(error)),
  }));
}

/** What is wrong, for a model or a person who does not know the words of JSON Schema. */
function messageOf({ keyword, params, message = 'does not fit' }: ErrorObject): string {
  const { allowedValues, allowedValue } = params as Record<string, unknown>;
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
    case 'unevaluatedProperties':
    case 'false schema':
      return 'is not accepted';
    case 'enum':
      return Array.isArray(allowedValues) ? `must be one of ${allowedValues.map(jsonOf).join(', ')}` : message;
    case 'const':
      return `must be ${jsonOf(allowedValue)}`;
    default:
      return message;
  }
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value);
}

/** The path, such as `a.list[0].name`, including a property that is missing or not accepted. */
function pathOf({ instancePath, params, propertyName }: ErrorObject): string {
  const steps = instancePath.split('/').slice(1);
  const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const { missingProperty, additionalProperty, unevaluatedProperty } = params as Record<string, unknown>;
  const last = missingProperty ?? additionalProperty ?? unevaluatedProperty ?? propertyName;
  if (typeof last === 'string') names.push(last);
  return names.reduce((path, name) => {
    if (/^\d+$/.test(name)) return `${path}[${name}]`;
    return path === '' ? name : `${path}.${name}`;
  }, '');
}

function bounded(text: string): string {
  return (text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text).toWellFormed();
}

function snakeCase(keyword: string): string {
  return keyword.replace(' ', '_').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
