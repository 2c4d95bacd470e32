import type { FieldValue } from './field-value.js';
import type { ListField } from './list-spec.js';

/** SQL for TypeORM's query builder. Values are only in `parameters`; `sql` holds columns, operators and `:names`. */
export interface SqlClause {
  readonly sql: string;
  readonly parameters: Readonly<Record<string, FieldValue | readonly FieldValue[]>>;
}

/**
 * The SQL that stands for one bound value. Numbers are cast, else PostgreSQL takes the column's type for them and fails on
 * 1.5 or 1e20 beside an integer column.
 */
export function placeholder(field: ListField, name: string): string {
  return field.type === 'number' ? `CAST(:${name} AS numeric)` : `:${name}`;
}

/** The SQL that stands for a bound array of values. */
export function arrayPlaceholder(field: ListField, name: string): string {
  return field.type === 'number' ? `CAST(:${name} AS numeric[])` : `:${name}`;
}
