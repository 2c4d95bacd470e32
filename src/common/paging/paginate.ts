import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { HELD_PER_JSON_BYTE, type HeldAnswer } from '../answers/answer-budget.js';
import { type CursorScope, decodeCursor, encodeCursor } from './cursor.js';
import { type FieldValue, readFieldValue } from './field-value.js';
import { afterRow } from './keyset.js';
import { listFault } from './list-fault.js';
import { DEFAULT_LIMIT, type ListInput } from './list-input.js';
import { type OrderTerm, resolveOrder } from './list-order.js';
import type { ListSpec } from './list-spec.js';
import { compileWhere } from './where-clause.js';

/** A page ends before the row that would make it larger as JSON text; a single larger row is a page of its own. */
export const MAX_PAGE_BYTES = 4_194_304;
/** At most, for a row of a list that measures none. */
const SHORT_ROW_BYTES = 2048;

/** One page of a list; `totalCount` counts all its pages. */
export interface Page<E> {
  readonly items: E[];
  readonly totalCount: number;
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}

/**
 * Runs a list query. How large the rows are is measured before they are read, and the memory for them taken from `answer`.
 * @param query selects the entities that the caller may see. Its own conditions are joined by AND (a plain `orWhere` beside
 *   them would escape the filter), and its joins match at most one row each. It is not changed.
 * @param input already validated as a `ListInput`
 * @throws DomainError `invalid_request` for a where or orderBy that the list does not publish, `invalid_cursor`,
 *   `answer_memory_exhausted`
 */
export async function paginate<E extends ObjectLiteral>(
  query: SelectQueryBuilder<E>,
  spec: ListSpec,
  input: ListInput,
  answer: HeldAnswer,
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
  const page = matching.clone();
  if (after !== undefined) page.andWhere(after.sql, after.parameters);
  if (offset != null) page.offset(offset);
  orderQuery(page, order);

  const totalCount = await matching.getCount();
  const sizes = await measureRows(page.clone().limit(limit + 1), spec);
  const fitting = fittingRows(sizes.slice(0, limit));
  answer.reserve(fitting.bytes * HELD_PER_JSON_BYTE);
  const items = fitting.count === 0 ? [] : await page.limit(fitting.count).getMany();
  const last = items.at(-1);
  const hasMore = sizes.length > fitting.count && last !== undefined;
  const nextCursor = hasMore ? encodeCursor(scope, orderValues(last, order)) : null;
  return { items, totalCount, hasMore, nextCursor };
}

/** The bytes of each row of the query, in its order. */
async function measureRows<E extends ObjectLiteral>(
  query: SelectQueryBuilder<E>,
  { rowBytes = String(SHORT_ROW_BYTES) }: ListSpec,
): Promise<number[]> {
  const rows = await query.select(rowBytes, 'bytes').getRawMany<{ bytes: string }>();
  return rows.map(({ bytes }) => Number(bytes));
}

/** How many of the rows, from the first, are a page, and their bytes. */
function fittingRows(sizes: readonly number[]): { count: number; bytes: number } {
  let bytes = 0;
  let count = 0;
  for (const size of sizes) {
    if (count > 0 && bytes + size > MAX_PAGE_BYTES) break;
    bytes += size;
    count++;
  }
  return { count, bytes };
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
