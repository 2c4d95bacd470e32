import type { FieldValue } from './field-value.js';
import type { OrderTerm } from './list-order.js';
import { placeholder, type SqlClause } from './sql-clause.js';

/**
 * The condition for the rows after the one with these order values. For (a asc, b desc) it reads
 * `(a >= :a AND (a > :a OR b < :b))`: right for mixed directions, and an index on `a` can start at `:a`.
 * @param values one for each term
 */
export function afterRow(order: readonly OrderTerm[], values: readonly FieldValue[]): SqlClause {
  const parameters = Object.fromEntries(values.map((value, index) => [parameterName(index), value]));
  return { sql: afterFrom(order, 0), parameters };
}

function afterFrom(order: readonly OrderTerm[], index: number): string {
  const term = order[index];
  if (term === undefined) return 'FALSE';
  const { column } = term.field;
  const sign = term.direction === 'asc' ? '>' : '<';
  const bound = placeholder(term.field, parameterName(index));
  if (index === order.length - 1) return `${column} ${sign} ${bound}`;
  return `(${column} ${sign}= ${bound} AND (${column} ${sign} ${bound} OR ${afterFrom(order, index + 1)}))`;
}

function parameterName(index: number): string {
  return `list_after_${index}`;
}
