export const SORT_DIRECTIONS = ['asc', 'desc'] as const;
export type SortDirection = (typeof SORT_DIRECTIONS)[number];

interface Column {
  /**
   * `alias.property` as TypeORM's query builder knows it. Fields that can be ordered by belong to the list's main entity,
   * because the cursor is read from it.
   */
  readonly column: string;
  /** A nullable field can be filtered but not ordered by. A condition never holds for a null. */
  readonly nullable?: boolean;
}

interface PlainField extends Column {
  /**
   * `number`: a column that TypeORM reads as a JS number (int, double precision; bigint and numeric come as strings).
   * `date`: a `timestamptz(3)`, which a JS Date holds exactly.
   */
  readonly type: 'string' | 'number' | 'boolean' | 'date' | 'uuid';
}

interface EnumField extends Column {
  readonly type: 'enum';
  readonly values: readonly string[];
}

/** A published field of a list. */
export type ListField = PlainField | EnumField;

/** What a LIST tool publishes. The keys of `fields` are the snake_case names of the API (`created_at`). */
export interface ListSpec {
  /**
   * Names the list inside its cursors. A list that hangs under one parent (the messages of a thread) puts the parent's id
   * into the name, so that a cursor of one parent is refused under another.
   */
  readonly name: string;
  readonly fields: Readonly<Record<string, ListField>>;
  readonly defaultOrder: readonly { readonly field: string; readonly direction: SortDirection }[];
  /**
   * SQL for the bytes that a row takes as JSON text, where rows may be longer than a few kilobytes. It is evaluated for every
   * row of a page before the page is read, so it must not unpack large values.
   */
  readonly rowBytes?: string;
  /** A unique field, ordered by last, so that no two rows are equal in the order. */
  readonly tieBreaker: string;
}

/** The published field of this name; names that every object inherits (`constructor`) are unknown like any other. */
export function findField(spec: ListSpec, name: string): ListField | undefined {
  return Object.hasOwn(spec.fields, name) ? spec.fields[name] : undefined;
}
