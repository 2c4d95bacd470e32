import type { FieldValue } from './field-value.js';
import type { ListField } from './list-spec.js';

/**
 * SQL for TypeORM's query builder. Only `parameters` contains values; `sql` contains columns, operators and `:names`.
 */
export interface SqlClause {
  readonly sql: string;
  readonly parameters: Readonly<Record<string, FieldValue | readonly FieldValue[]>>;
}

/**
 * The SQL for one bound value. Numbers are cast; otherwise PostgreSQL assumes the column's type for them and fails when
 * it compares 1.5 or 1e20 with an integer column.
 */
export function placeholder(field: ListField, name: string): string {
  return field.type === 'number' ? `CAST(:${name} AS numeric)` : `:${name}`;
}

/** The SQL for a bound array of values. */
export function arrayPlaceholder(field: ListField, name: string): string {
  return field.type === 'number' ? `CAST(:${name} AS numeric[])` : `:${name}`;
}
