export const SORT_DIRECTIONS = ['asc', 'desc'] as const;
export type SortDirection = (typeof SORT_DIRECTIONS)[number];

interface Column {
  /**
   * `alias.property` in the syntax of TypeORM's query builder. Fields that can be ordered by belong to the list's main
   * entity, because the cursor is read from it.
   */
  readonly column: string;
  /** A nullable field can be filtered, and ordered by only with an `order` of its own. No condition matches null. */
  readonly nullable?: boolean;
  /** What to order by instead of the column, never null. */
  readonly order?: { readonly sql: string; readonly valueOf: (row: never) => string | number };
}

interface PlainField extends Column {
  /**
   * `number`: a column that TypeORM reads as a JS number (int, double precision; bigint and numeric are strings). It is
   * compared as `numeric`, so that an index on it serves the order but not comparisons. `integer`: such a column of
   * whole numbers, compared only with whole numbers, which an index serves. `date`: a `timestamptz(3)`, which a JS Date
   * represents exactly.
   */
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'date' | 'uuid';
}

interface EnumField extends Column {
  readonly type: 'enum';
  readonly values: readonly string[];
}

/** A published field of a list. */
export type ListField = PlainField | EnumField;

/** Pairs that can be filtered by, and the keys that they can have. */
export interface ListMap {
  readonly column: string;
  readonly key: RegExp;
}

/** A condition on more than a column of the list's main entity, such as the texts that belong to it. */
export interface ListSearch {
  /** The one operator that it has. */
  readonly operator: 'eq' | 'matches';
  readonly type: 'string' | 'uuid';
  /** SQL that is true for the rows which match the value at the placeholder. */
  readonly condition: (placeholder: string) => string;
}

/** The published definition of a LIST tool. The keys of `fields` are the snake_case names of the API (`created_at`). */
export interface ListSpec {
  /**
   * Identifies the list inside its cursors. A list of one parent (the messages of a thread) includes the parent's id,
   * so that a cursor of one parent is refused under another.
   */
  readonly name: string;
  readonly fields: Readonly<Record<string, ListField>>;
  /** Columns of type jsonb that hold pairs of strings, by name; `where` takes `["<name>", "<key>"]`. */
  readonly maps?: Readonly<Record<string, ListMap>>;
  /** By name. They can be filtered by, but not ordered by. */
  readonly searches?: Readonly<Record<string, ListSearch>>;
  readonly defaultOrder: readonly { readonly field: string; readonly direction: SortDirection }[];
  /**
   * SQL for the bytes of a row as JSON text, for rows that can exceed a few kilobytes. It is evaluated for every row of
   * a page before the page is read, so it must not unpack large values.
   */
  readonly rowBytes?: string;
  /** A unique field, ordered by last, so that the order is total. */
  readonly tieBreaker: string;
}

/** The published field with this name; names that every object inherits (`constructor`) are unknown too. */
export function findField(spec: ListSpec, name: string): ListField | undefined {
  return Object.hasOwn(spec.fields, name) ? spec.fields[name] : undefined;
}
