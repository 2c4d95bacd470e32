import type { OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { relaxDefaulted } from './defaulted-properties.js';
import { exceededLimit, type JsonLimits } from '../../core/json-size.js';
import { type PlainForm, plainFormOf } from './plain-form.js';
import { compilePlain, type Validate } from './schema-validator.js';
import { type ArgumentVerdict, verdictOn, unusable } from './argument-verdict.js';
import { type IsolatedSchema, type IsolationTimes, IsolatedChecks } from './isolated-checks.js';

const TIMES: IsolationTimes = { deadline: 1_000, quarantine: 60_000, maxWait: 10_000 };

/**
 * Larger schemas are refused without reading them: legitimate tools do not need them, and they would cost the process
 * too much.
 */
const SCHEMA_LIMITS: JsonLimits = { nodes: 20_000, depth: 100, characters: 512 * 1024 };
const REFUSALS: Record<keyof JsonLimits, ArgumentVerdict> = {
  nodes: unusable(`it has more than ${SCHEMA_LIMITS.nodes} nodes`),
  depth: unusable(`it is nested more than ${SCHEMA_LIMITS.depth} deep`),
  characters: unusable(`its texts have more than ${SCHEMA_LIMITS.characters} characters`),
};
/**
 * Nodes of the schema times nodes of the arguments up to which the event loop checks them: a few milliseconds at worst.
 */
const INLINE_WORK = 50_000;
/** How many characters take as long as one node. */
const CHARACTERS_PER_NODE = 64;
const INLINE_DEPTH = 64;

/** Plain schemas that stay compiled; one that was evicted is compiled again when it comes back. */
const PLAIN_VALIDATORS = 2_000;

/** The cached state of one schema. */
interface SchemaEntry extends IsolatedSchema {
  plain?: { readonly form: object; readonly limits: JsonLimits };
}

/**
 * Validates the arguments of tool calls against the tools' input schemas, which come from upstreams and can be hostile.
 * Plain schemas are checked synchronously, in microseconds; all others on a thread with a deadline (see
 * `IsolatedChecks`). Arguments are never modified: defaults are not filled in, and types are not coerced. A required
 * property that has a default may be absent.
 */
export class ArgumentChecker implements OnApplicationShutdown {
  /** By identity: an entry lives as long as the tool list that contains its schema. */
  private readonly schemas = new WeakMap<object, SchemaEntry>();
  /** By the plain form of the schema. */
  private readonly validators = new LRUCache<object, Validate>({ max: PLAIN_VALIDATORS });
  private readonly isolated: IsolatedChecks;
  private keys = 0;

  constructor(times: IsolationTimes = TIMES) {
    this.isolated = new IsolatedChecks(times);
  }

  /**
   * Never throws or rejects, whatever the schema is.
   * @param inputSchema the tool's schema as parsed from the upstream's list; pass the same object each time
   * @param args `{}` for a call without arguments
   * @param owner of the schema, such as the connection's id, whose schemas are refused together after several slow
   * checks
   * @param organization of the owner; organizations take turns on the thread
   * @returns the verdict itself for a plain schema, a promise otherwise
   */
  validateArguments(
    inputSchema: object,
    args: unknown,
    owner: string,
    organization = owner,
  ): ArgumentVerdict | Promise<ArgumentVerdict> {
    const schema = this.schemas.get(inputSchema) ?? this.examine(inputSchema, false);
    return this.validate(schema, args, { owner, organization });
  }

  /**
   * Validates any JSON value, with the same protection. The schema is used as it is: a required property that has a
   * default must be there.
   * @param schema pass the same object each time, and not to `validateArguments`
   */
  validateValue(
    schema: object,
    value: unknown,
    of: { readonly owner: string; readonly organization: string },
  ): ArgumentVerdict | Promise<ArgumentVerdict> {
    return this.validate(this.schemas.get(schema) ?? this.examine(schema, true), value, of);
  }

  onApplicationShutdown(): Promise<void> {
    return this.isolated.close();
  }

  private validate(
    schema: SchemaEntry,
    value: unknown,
    of: { readonly owner: string; readonly organization: string },
  ): ArgumentVerdict | Promise<ArgumentVerdict> {
    const { plain } = schema;
    if (plain !== undefined && exceededLimit(value, plain.limits) === undefined) {
      return verdictOn(this.validatorOf(plain.form)(value));
    }
    return schema.unusable ?? this.isolated.validateInIsolation(schema, value, of);
  }

  private validatorOf(form: object): Validate {
    const known = this.validators.get(form);
    if (known !== undefined) return known;
    const validate = compilePlain(form);
    this.validators.set(form, validate);
    return validate;
  }

  private examine(source: object, isExact: boolean): SchemaEntry {
    const form = plainFormOf(source);
    if (form !== undefined && !isExact) relaxDefaulted(form.schema);
    const schema: SchemaEntry =
      form === undefined
        ? this.newSchema(source, isExact, refusalOfSize(source))
        : { ...this.newSchema(form.schema, isExact), plain: plainSchemaOf(form) };
    this.schemas.set(source, schema);
    return schema;
  }

  private newSchema(source: object, isExact: boolean, unusable?: ArgumentVerdict): SchemaEntry {
    return { key: this.keys++, text: () => JSON.stringify(source), isExact, unusable };
  }
}

function refusalOfSize(inputSchema: object): ArgumentVerdict | undefined {
  const exceeded = exceededLimit(inputSchema, SCHEMA_LIMITS);
  return exceeded === undefined ? undefined : REFUSALS[exceeded];
}

function plainSchemaOf({ schema, nodes, measuresText }: PlainForm): SchemaEntry['plain'] {
  const inlineNodes = Math.floor(INLINE_WORK / nodes);
  const characters = measuresText ? inlineNodes * CHARACTERS_PER_NODE : Infinity;
  return { form: schema, limits: { nodes: inlineNodes, depth: INLINE_DEPTH, characters } };
}
