import { isRecord } from '../is-record.js';
import { describeValue, type FieldValue, readFieldValue } from './field-value.js';
import { listFault } from './list-input.js';
import { findField, type ListField, type ListMap, type ListSearch, type ListSpec } from './list-spec.js';

/**
 * SQL for TypeORM's query builder. Only `parameters` contains values; `sql` contains columns, operators and `:names`.
 */
export interface SqlClause {
  readonly sql: string;
  readonly parameters: Readonly<Record<string, FieldValue | readonly FieldValue[]>>;
}

/**
 * PostgreSQL assumes the column's type for other values, and would fail when it compares 1.5 or 1e20 with an integer
 * column. A column that is compared with a `numeric` value is converted itself, which no index serves.
 */
const CASTS: Partial<Record<ListField['type'], string>> = { number: 'numeric', integer: 'bigint' };

/** The SQL for one bound value. */
export function placeholder(field: ListField, name: string): string {
  const type = CASTS[field.type];
  return type === undefined ? `:${name}` : `CAST(:${name} AS ${type})`;
}

/** The SQL for a bound array of values. */
function arrayPlaceholder(field: ListField, name: string): string {
  const type = CASTS[field.type];
  return type === undefined ? `:${name}` : `CAST(:${name} AS ${type}[])`;
}

const MAX_DEPTH = 5;
const MAX_CONDITIONS = 50;
const MAX_IN_VALUES = 100;
const MAX_TEXT_LENGTH = 1000;

const GROUPS = ['and', 'or', 'not'] as const;
type Group = (typeof GROUPS)[number];

const COMPARISONS = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
type Comparison = keyof typeof COMPARISONS | 'in' | 'like' | 'contains';
/** Only searches have `matches`. */
type Operator = Comparison | 'matches';

type FieldType = ListField['type'];
const ORDERED: readonly FieldType[] = ['number', 'integer', 'date', 'string'];
const ALL: readonly FieldType[] = [...ORDERED, 'boolean', 'uuid', 'enum'];

/** The field types that each comparison supports. */
const COMPARED_TYPES: Readonly<Record<Comparison, readonly FieldType[]>> = {
  eq: ALL,
  in: ALL,
  gt: ORDERED,
  gte: ORDERED,
  lt: ORDERED,
  lte: ORDERED,
  like: ['string'],
  contains: ['string'],
};

/** A pair of a map, as a field; `eq` on it is a containment, which an index on the map serves. */
type Comparable = ListField & { readonly member?: { readonly map: ListMap; readonly key: string } };

type Node = Readonly<Record<string, unknown>>;

/** The comparison of a column with a pattern; `placeholder` is the pattern's. */
interface PatternPart {
  readonly column: string;
  readonly placeholder: string;
}

/** SQL of a condition, or a comparison with a pattern, which can be joined with others of its column. */
type Part = string | PatternPart;

/**
 * Compiles the `where` of a LIST tool. `like` is SQL LIKE (`%` any text, `_` one character, `\` escapes), `contains` a
 * plain substring, `matches` a search for words; all ignore case. `not` matches when its conditions do not all match,
 * including comparisons with null. Depth counts groups: a single condition has depth 0.
 * @throws DomainError `invalid_request` that names the first fault by its path, such as `where.conditions[1].field`
 */
export function compileWhere(where: unknown, spec: ListSpec): SqlClause {
  const compiler = new WhereCompiler(spec);
  const part = compiler.compile(where, 'where', 0);
  return { sql: sqlOf(part), parameters: compiler.parameters };
}

class WhereCompiler {
  readonly parameters: Record<string, FieldValue | readonly FieldValue[]> = {};
  private conditionCount = 0;

  constructor(private readonly spec: ListSpec) {}

  compile(node: unknown, path: string, depth: number): Part {
    if (!isRecord(node)) throw listFault(path, 'invalid_condition', 'A condition must be an object.');
    const { operator } = node;
    if (isGroup(operator)) return this.group(node, operator, path, depth + 1);
    if (isOperator(operator)) return this.condition(node, operator, path);
    const names = [...Object.keys(COMPARED_TYPES), 'matches', ...GROUPS].join(', ');
    throw listFault(`${path}.operator`, 'unknown_operator', `The operator must be one of ${names}.`);
  }

  private group(node: Node, operator: Group, path: string, depth: number): string {
    allowOnly(node, ['operator', 'conditions'], path);
    if (depth > MAX_DEPTH) throw listFault(path, 'too_deep', `Groups may be nested at most ${MAX_DEPTH} deep.`);
    const { conditions } = node;
    if (!Array.isArray(conditions) || conditions.length === 0) {
      throw listFault(`${path}.conditions`, 'invalid_conditions', 'A group must list at least one condition.');
    }
    const parts = conditions.map((child, index) => this.compile(child, `${path}.conditions[${index}]`, depth));
    const joined = `(${joinPatterns(parts, operator).join(operator === 'or' ? ' OR ' : ' AND ')})`;
    // A comparison with null is unknown, and NOT keeps it unknown; IS NOT TRUE turns it into true.
    return operator === 'not' ? `(${joined} IS NOT TRUE)` : joined;
  }

  private condition(node: Node, operator: Operator, path: string): Part {
    allowOnly(node, ['field', 'operator', 'value'], path);
    this.conditionCount += 1;
    if (this.conditionCount > MAX_CONDITIONS) {
      throw listFault(path, 'too_many_conditions', `At most ${MAX_CONDITIONS} conditions are accepted.`);
    }
    const search = this.search(node.field);
    if (search !== undefined) return this.searchFor(search, operator, node.value, path);
    const field = this.field(node.field, `${path}.field`);
    if (operator === 'matches' || !COMPARED_TYPES[operator].includes(field.type)) {
      throw listFault(
        `${path}.operator`,
        'operator_not_supported',
        `${operator} does not support the type ${field.type}.`,
      );
    }
    return this.comparison(field, operator, node.value, `${path}.value`);
  }

  private search(name: unknown): ListSearch | undefined {
    const { searches = {} } = this.spec;
    const [first, ...more]: unknown[] = Array.isArray(name) ? name : [];
    return typeof first === 'string' && more.length === 0 && Object.hasOwn(searches, first)
      ? searches[first]
      : undefined;
  }

  private searchFor(search: ListSearch, operator: Operator, value: unknown, path: string): string {
    if (operator !== search.operator) {
      throw listFault(`${path}.operator`, 'operator_not_supported', `The field supports only ${search.operator}.`);
    }
    const field = { type: search.type, column: '' };
    return search.condition(placeholder(field, this.bind(checked(field, value, `${path}.value`))));
  }

  private field(name: unknown, path: string): Comparable {
    const [first, key, ...more]: unknown[] = Array.isArray(name) ? name : [];
    if (typeof first === 'string' && more.length === 0) {
      const field = key === undefined ? findField(this.spec, first) : this.member(first, key);
      if (field !== undefined) return field;
    }
    const names = Object.keys({ ...this.spec.fields, ...this.spec.searches }).join(', ');
    const maps = Object.keys(this.spec.maps ?? {}).map((map) => `, or ["${map}", a key]`);
    throw listFault(path, 'unknown_field', `The field must be a list of exactly one of ${names}${maps.join('')}.`);
  }

  private member(name: string, key: unknown): Comparable | undefined {
    const { maps = {} } = this.spec;
    const map = Object.hasOwn(maps, name) ? maps[name] : undefined;
    if (map === undefined || typeof key !== 'string' || !map.key.test(key)) return undefined;
    return { type: 'string', column: `(${map.column} ->> :${this.bind(key)})`, nullable: true, member: { map, key } };
  }

  private comparison(field: Comparable, operator: Comparison, value: unknown, path: string): Part {
    const { member } = field;
    if (member !== undefined && operator === 'eq') {
      const pair = JSON.stringify({ [member.key]: checked(field, value, path) });
      return `${member.map.column} @> CAST(:${this.bind(pair)} AS jsonb)`;
    }
    switch (operator) {
      case 'in':
        return `${field.column} = ANY(${arrayPlaceholder(field, this.bind(checkedList(field, value, path)))})`;
      case 'like':
        return this.pattern(field, checkedPattern(field, value, path));
      case 'contains':
        return this.pattern(field, substringPattern(checked(field, value, path)));
      default:
        return `${field.column} ${COMPARISONS[operator]} ${placeholder(field, this.bind(checked(field, value, path)))}`;
    }
  }

  private pattern(field: Comparable, pattern: FieldValue): PatternPart {
    return { column: field.column, placeholder: placeholder(field, this.bind(pattern)) };
  }

  /** Stores the value as a parameter and returns the parameter's name. */
  private bind(value: FieldValue | readonly FieldValue[]): string {
    const name = `list_where_${Object.keys(this.parameters).length}`;
    this.parameters[name] = value;
    return name;
  }
}

function sqlOf(part: Part): string {
  return typeof part === 'string' ? part : `${part.column} ILIKE ${part.placeholder}`;
}

/**
 * The parts of a group, in which the patterns for one column are one part: ILIKE would turn the text of each row into
 * lower case once for each of them, which takes most of the time of a search. A single pattern stays ILIKE, for which
 * the planner has statistics.
 */
function joinPatterns(parts: readonly Part[], operator: Group): string[] {
  const patterns = parts.filter((part) => typeof part !== 'string');
  const joined = [...Map.groupBy(patterns, ({ column }) => column)].flatMap(([column, same]) => {
    if (same.length === 1) return same.map(sqlOf);
    const lowered = same.map((part) => `lower(${part.placeholder})`).join(', ');
    return [`lower(${column}) LIKE ${operator === 'or' ? 'ANY' : 'ALL'} (ARRAY[${lowered}])`];
  });
  return [...parts.filter((part) => typeof part === 'string'), ...joined];
}

function checked(field: ListField, value: unknown, path: string): FieldValue {
  const read = readFieldValue(field, value);
  if (read === undefined) throw listFault(path, 'invalid_value', `The value must be ${describeValue(field)}.`);
  if (typeof read === 'string' && read.length > MAX_TEXT_LENGTH) {
    throw listFault(path, 'value_too_long', `The value must have at most ${MAX_TEXT_LENGTH} characters.`);
  }
  return read;
}

function checkedList(field: ListField, value: unknown, path: string): readonly FieldValue[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_IN_VALUES) {
    throw listFault(path, 'invalid_value', `The value must be a list of 1 to ${MAX_IN_VALUES} values.`);
  }
  return value.map((item, index) => checked(field, item, `${path}[${index}]`));
}

/** PostgreSQL fails on a pattern that ends with an escape character. */
function checkedPattern(field: ListField, value: unknown, path: string): FieldValue {
  const pattern = checked(field, value, path);
  if (/^(?:[^\\]|\\[^])*$/.test(String(pattern))) return pattern;
  throw listFault(path, 'invalid_value', 'The pattern must not end with a lone backslash.');
}

function substringPattern(text: FieldValue): string {
  return `%${String(text).replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
}

function allowOnly(node: Node, names: readonly string[], path: string): void {
  if (Object.keys(node).every((name) => names.includes(name))) return;
  throw listFault(path, 'unknown_property', `Only ${names.join(', ')} are accepted here.`);
}

function isGroup(value: unknown): value is Group {
  return GROUPS.some((group) => group === value);
}

function isOperator(value: unknown): value is Operator {
  return value === 'matches' || (typeof value === 'string' && Object.hasOwn(COMPARED_TYPES, value));
}
