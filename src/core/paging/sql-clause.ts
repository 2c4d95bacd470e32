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
export function arrayPlaceholder(field: ListField, name: string): string {
  const type = CASTS[field.type];
  return type === undefined ? `:${name}` : `CAST(:${name} AS ${type}[])`;
}
