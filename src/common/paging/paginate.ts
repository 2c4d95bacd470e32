import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { type CursorScope, decodeCursor, encodeCursor } from './cursor.js';
import { type FieldValue, readFieldValue } from './field-value.js';
import { afterRow } from './keyset.js';
import { listFault } from './list-fault.js';
import { DEFAULT_LIMIT, type ListInput } from './list-input.js';
import { type OrderTerm, resolveOrder } from './list-order.js';
import type { ListSpec } from './list-spec.js';
import { compileWhere } from './where-clause.js';

/** One page of a list; `totalCount` counts all its pages. */
export interface Page<E> {
  readonly items: E[];
  readonly totalCount: number;
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}

/**
 * Runs a list query.
 * @param query selects the entities that the caller may see. Its own conditions are joined by AND (a plain `orWhere` beside
 *   them would escape the filter), and its joins match at most one row each. It is not changed.
 * @param input already validated as a `ListInput`
 * @throws DomainError `invalid_request` for a where or orderBy that the list does not publish, `invalid_cursor`
 */
export async function paginate<E extends ObjectLiteral>(
  query: SelectQueryBuilder<E>,
  spec: ListSpec,
  input: ListInput,
): Promise<Page<E>> {
  const { cursor, offset } = input;
  const limit = input.limit ?? DEFAULT_LIMIT;
  if (cursor != null && offset != null) {
    throw listFault('offset', 'offset_with_cursor', 'cursor and offset cannot be used together.');
  }
  const order = resolveOrder(spec, input.orderBy ?? []);
  const where = input.where == null ? undefined : compileWhere(input.where, spec);
  const scope: CursorScope = { list: spec.name, order, where };
  const after = cursor == null ? undefined : afterRow(order, decodeCursor(scope, cursor));

  const matching = query.clone();
  if (where !== undefined) matching.andWhere(where.sql, where.parameters);
  const page = matching.clone().limit(limit + 1);
  if (after !== undefined) page.andWhere(after.sql, after.parameters);
  if (offset != null) page.offset(offset);
  orderQuery(page, order);

  const totalCount = await matching.getCount();
  const rows = await page.getMany();
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const hasMore = rows.length > limit;
  const nextCursor = hasMore && last !== undefined ? encodeCursor(scope, orderValues(last, order)) : null;
  return { items, totalCount, hasMore, nextCursor };
}

function orderQuery<E extends ObjectLiteral>(query: SelectQueryBuilder<E>, order: readonly OrderTerm[]): void {
  query.orderBy();
  for (const { field, direction } of order) query.addOrderBy(field.column, direction === 'asc' ? 'ASC' : 'DESC');
}

function orderValues(row: object, order: readonly OrderTerm[]): FieldValue[] {
  return order.map(({ name, field }) => {
    const property = field.column.slice(field.column.indexOf('.') + 1);
    const raw: unknown = Reflect.get(row, property);
    const value = readFieldValue(field, raw instanceof Date ? raw.toISOString() : raw);
    if (value === undefined) throw new Error(`The order field ${name} was not read as ${field.type}.`);
    return value;
  });
}
