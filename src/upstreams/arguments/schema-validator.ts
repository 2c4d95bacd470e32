import { Ajv, MissingRefError, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { fastFormats } from 'ajv-formats/dist/formats.js';
import type { FieldError } from '../../common/domain-error.js';

// Imports nothing but packages and types: the worker thread loads this file by its own path, in `dist` and under Jest.

/** The faults of these arguments, none if they fit. */
export type Validate = (args: unknown) => readonly FieldError[];

/** Formats that are asserted: each is tested in time linear in the text. Every other format is an annotation. */
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
const LONGEST_TEXT = 200;

const OPTIONS: Options = {
  strict: false,
  logger: false,
  // `NaN` and infinity are no numbers of JSON.
  strictNumbers: true,
  // A schema must see only what the caller sent: `constructor` is no property of `{}`.
  ownProperties: true,
  // 19.99 is a multiple of 0.01, whatever the division says.
  multipleOfPrecision: 9,
  formats: Object.fromEntries(ASSERTED_FORMATS.map((name) => [name, fastFormats[name]])),
  // Ajv's optimizer costs more than it brings, and drops variables that are used (`items0 is not defined`).
  code: { optimize: false, regExp: Object.assign(lenientRegExp, { code: 'new RegExp' }) },
};

/** They check schemas against the meta-schema of their draft; nothing of a checked schema stays in them. */
const draft7 = new Ajv(OPTIONS);
const draft2020 = new Ajv2020(OPTIONS);

/**
 * Compiles a plain form (see `plain-form.ts`), which needs no meta-schema and means the same in every draft. All faults
 * are named, by a second validator that is compiled with the first arguments that do not fit.
 */
export function compilePlain(form: object): Validate {
  const compile = (allErrors: boolean): ValidateFunction =>
    ownFormats(new Ajv({ ...OPTIONS, meta: false, validateSchema: false, allErrors })).compile(form);
  const quick = compile(false);
  let thorough: ValidateFunction | undefined;
  return (args) => {
    if (quick(args)) return [];
    thorough ??= compile(true);
    thorough(args);
    return faultsOf(thorough.errors ?? quick.errors);
  };
}

/**
 * Compiles any schema; the first fault is named. The draft is that of `$schema`: draft-07 and its elders, or 2020-12. A
 * schema that names no draft of these is 2020-12, the default of MCP since 2025-11-25, and draft-07 if it is valid as that
 * only, which is what servers of the older revisions mean. Nothing is ever fetched for a `$ref`.
 * @throws Error with a message that says what is wrong with the schema
 */
export function compileSchema(schema: unknown): Validate {
  const own = withoutDialect(schema);
  const meta = draftOf(schema, own);
  if (meta.validateSchema(own) !== true) {
    throw new Error(`it is not JSON Schema: ${meta.errorsText(meta.errors, { dataVar: 'schema' })}`);
  }

  // A fresh instance for each schema: `$id`s of one must not answer the `$ref`s of another.
  const options = { ...OPTIONS, validateSchema: false };
  const ajv = ownFormats(meta === draft2020 ? new Ajv2020(options) : new Ajv(options));
  // An old spelling of `$id`, which Ajv refuses and both drafts ignore.
  ajv.removeKeyword('id');
  const validate = compiled(ajv, own);
  return (args) => (validate(args) ? [] : faultsOf(validate.errors));
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

/** So that the format `constructor` is an unknown one, not a member that every object inherits. */
function ownFormats<T extends Ajv>(ajv: T): T {
  Object.setPrototypeOf(ajv.formats, null);
  return ajv;
}

/** JSON Schema asks for Unicode patterns; many in the field are valid only as the older kind. */
function lenientRegExp(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return new RegExp(pattern);
  }
}

/**
 * A copy without what Ajv knows beyond the standard and would stumble over: `$async`, and `nullable` beside no `type`; and
 * without `$schema`, as the draft has been decided.
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
    message: bounded(error.message ?? 'does not fit'),
  }));
}

/** `a.list[0].name`, of the property that is missing or not accepted too. */
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
