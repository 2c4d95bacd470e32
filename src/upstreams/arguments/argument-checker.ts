import type { OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { setTimeout as sleep } from 'node:timers/promises';
import { relaxDefaulted } from './defaulted-properties.js';
import { exceededLimit, type JsonLimits } from '../../core/json-size.js';
import { type PlainForm, plainFormOf } from './plain-form.js';
import { compilePlain, type Validate } from './schema-validator.js';
import { DomainError, type FieldError } from '../../core/domain-error.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { atMost, Shares } from '../../core/sharing/shares.js';
import { type CheckAnswer, CheckOverrun, CheckThread, type NamedSchema } from './check-thread.js';

/**
 * The result of a validation. `unfit` has at most 20 faults with path and rule, and never a value of the arguments.
 * `unusable` states in a sentence why the schema cannot be used. `busy` means that too many validations are queued.
 */
export type ArgumentVerdict =
  | { readonly outcome: 'fit' }
  | { readonly outcome: 'unfit'; readonly faults: readonly FieldError[] }
  | { readonly outcome: 'unusable'; readonly reason: string }
  | { readonly outcome: 'busy' };

const FIT: ArgumentVerdict = { outcome: 'fit' };
const LONGEST_REASON = 300;

/** The verdict on arguments with these faults. */
export function verdictOn(faults: readonly FieldError[]): ArgumentVerdict {
  return faults.length === 0 ? FIT : { outcome: 'unfit', faults };
}

/** The verdict on a schema that cannot be used. The reason can quote the schema, so it is truncated for logs. */
function unusable(reason: string): ArgumentVerdict {
  const cut = reason.length > LONGEST_REASON ? `${reason.slice(0, LONGEST_REASON)}…` : reason;
  return { outcome: 'unusable', reason: cut.toWellFormed() };
}

/** The error for the caller; undefined if the arguments are valid. */
export function refusalOf(verdict: ArgumentVerdict): DomainError | undefined {
  switch (verdict.outcome) {
    case 'fit':
      return undefined;
    case 'unfit':
      return new DomainError('invalid_arguments', summaryOf(verdict.faults), verdict.faults);
    case 'unusable':
      return new DomainError('tool_schema_invalid', `The input schema of the tool cannot be used: ${verdict.reason}.`);
    case 'busy':
      return new DomainError('connection_unavailable', 'Too many argument validations are queued.', undefined, {
        headers: { 'Retry-After': '1' },
      });
  }
}

/** Every fault, so that a model can mend all of them at once. */
function summaryOf(faults: readonly FieldError[]): string {
  const list = faults.map(({ path, message }) => `${pathOf(path)} ${message}`);
  return `The arguments do not match the tool's input schema: ${list.join('; ')}.`;
}

function pathOf(path: string): string {
  if (path === '') return 'arguments';
  return path.startsWith('[') ? `arguments${path}` : `arguments.${path}`;
}

/** A schema that is checked on the thread. */
interface IsolatedSchema extends NamedSchema {
  /** Set once it is known that the schema cannot be used at all. */
  unusable?: ArgumentVerdict | undefined;
  /** When the quarantine of the schema ends, on the monotonic clock; absent: it never missed the deadline. */
  quarantinedUntil?: number;
}

/** Time limits in milliseconds. */
export interface IsolationTimes {
  /** Of one check, which includes compiling its schema: half by the clock, and half as processor time. */
  deadline: number;
  /** How long a schema that missed the deadline is not used. */
  quarantine: number;
  /** How long a check can be queued before it is given up. */
  maxWait: number;
}

/** How many checks can be queued, in all and of one organization. */
const PLACES = { total: 2_048, perOrganization: 512 };
/** How many checks of one owner can miss the deadline within the time of a quarantine. */
const MAX_MISSES = 2;
const MAX_OWNERS = 10_000;
/** The pause between two attempts to start the thread. */
const RESTART_PAUSE_MS = 100;

const BUSY: ArgumentVerdict = { outcome: 'busy' };
const QUEUE_FULL = new Error('Too many checks are queued.');
const TOO_DEEP = verdictOn([{ path: '', code: 'depth', message: 'must not be nested so deeply' }]);
const TOO_SLOW = unusable('a check against it takes too long');
const QUARANTINED = unusable('a check against it took too long, so it is not used for a while');
const OWNER_QUARANTINED = unusable(
  'checks against schemas of its owner took too long too often, so none is used for a while',
);

/**
 * Performs checks that could block the event loop, one at a time on a thread on which organizations take turns. A
 * check that misses the deadline is given up, and its schema is quarantined; after a few such checks, all schemas of
 * their owner are. Another organization therefore waits for one deadline at most before each of its checks.
 */
class IsolatedChecks {
  private readonly turns = new FairShare({
    capacity: 1,
    limits: [],
    places: new Shares(PLACES.total, [atMost(PLACES.perOrganization)]),
    refusal: () => QUEUE_FULL,
  });
  private readonly thread: CheckThread;
  private readonly misses: LRUCache<string, number>;

  constructor(private readonly times: IsolationTimes) {
    this.thread = new CheckThread(times.deadline);
    this.misses = new LRUCache({ max: MAX_OWNERS, ttl: times.quarantine });
  }

  /** @param of whose schema it is; organizations take turns on the thread */
  async validateInIsolation(
    schema: IsolatedSchema,
    args: unknown,
    { owner, organization }: { readonly owner: string; readonly organization: string },
  ): Promise<ArgumentVerdict> {
    const queuedAt = performance.now();
    try {
      return await this.turns.within(
        [organization],
        async () => this.refusalOf(schema, owner, queuedAt) ?? (await this.perform(schema, args, owner)),
      );
    } catch (error) {
      if (error !== QUEUE_FULL) throw error;
      return BUSY;
    }
  }

  /** Ends the thread. Queued and later checks resolve with `busy`. */
  close(): Promise<void> {
    return this.thread.close();
  }

  private refusalOf(schema: IsolatedSchema, owner: string, queuedAt: number): ArgumentVerdict | undefined {
    const now = performance.now();
    if (schema.unusable !== undefined) return schema.unusable;
    if ((schema.quarantinedUntil ?? 0) > now) return QUARANTINED;
    if ((this.misses.get(owner) ?? 0) >= MAX_MISSES) return OWNER_QUARANTINED;
    return now - queuedAt > this.times.maxWait ? BUSY : undefined;
  }

  private async perform(schema: IsolatedSchema, args: unknown, owner: string): Promise<ArgumentVerdict> {
    const text = textOf(args);
    if (text === undefined) return TOO_DEEP;
    try {
      return verdictFrom(await this.thread.validateInThread(schema, text), schema);
    } catch (error) {
      if (error instanceof CheckOverrun) {
        schema.quarantinedUntil = performance.now() + this.times.quarantine;
        this.misses.set(owner, (this.misses.get(owner) ?? 0) + 1);
        return TOO_SLOW;
      }
      if (!this.thread.isClosed) await sleep(RESTART_PAUSE_MS);
      return BUSY;
    }
  }
}

function verdictFrom(answer: CheckAnswer, schema: IsolatedSchema): ArgumentVerdict {
  if (answer.kind === 'checked') return verdictOn(answer.faults);
  const verdict = unusable(answer.reason);
  if (answer.kind === 'invalid') schema.unusable = verdict;
  return verdict;
}

/** Undefined for a value that is too deep to serialize. */
function textOf(args: unknown): string | undefined {
  try {
    return JSON.stringify(args) ?? 'null';
  } catch {
    return undefined;
  }
}

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
