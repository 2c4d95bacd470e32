import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { HELD_PER_JSON_BYTE, type HeldAnswer } from '../answers/answer-budget.js';
import { type CursorScope, decodeCursor, encodeCursor } from './cursor.js';
import { type OrderTerm, orderColumn, resolveOrder } from './list-order.js';
import { type FieldValue, readFieldValue } from './field-value.js';
import { listFault, DEFAULT_LIMIT, type ListInput } from './list-input.js';
import type { ListSpec } from './list-spec.js';
import type { PageOutput } from './page-of.js';
import { compileWhere, placeholder, type SqlClause } from './where-clause.js';

/** A page ends before the row that would exceed this size as JSON text; a single larger row is a page of its own. */
export const MAX_PAGE_BYTES = 4_194_304;
/** The assumed maximum size of a row in a list that does not measure rows. */
const SHORT_ROW_BYTES = 2048;

/** The number of rows that are measured first: all of them, on most pages. */
const FIRST_BATCH = 64;

/** So many matching rows are noted when they are counted: more make a page soon, in the order of an index. */
const MAX_NOTED = 5000;

/**
 * One page of a list; `totalCount` counts the items of all pages, when the first page was read, up to `count_limit`.
 */
export type Page<E> = Readonly<PageOutput<E>>;

/**
 * Runs a list query. Rows that can be large are measured before they are read, and their memory is reserved from
 * `answer`.
 * @param query selects the entities that the caller can see. Its own conditions must be joined by AND (a plain
 * `orWhere` would bypass the filter), and its joins must match at most one row each. It is not changed.
 * @param input already validated as a `ListInput`
 * @param options.isSnapshot all statements of the query see the same rows. Then each row is compared with `where` once,
 *   where few match: the page is read from the places where the count has found them.
 * @throws DomainError `invalid_request` for a where or orderBy that the list does not publish, `invalid_cursor`,
 * `answer_memory_exhausted`
 */
export async function paginate<E extends ObjectLiteral>(
  query: SelectQueryBuilder<E>,
  spec: ListSpec,
  input: ListInput,
  answer: HeldAnswer,
  { isSnapshot = false } = {},
): Promise<Page<E>> {
  const { cursor, offset } = input;
  const limit = input.limit ?? DEFAULT_LIMIT;
  if (cursor != null && offset != null) {
    throw listFault('offset', 'offset_with_cursor', 'cursor and offset cannot be used together.');
  }
  const order = resolveOrder(spec, input.orderBy ?? []);
  const where = input.where == null ? undefined : compileWhere(input.where, spec);
  const scope: CursorScope = { list: spec.name, order, where };
  const position = cursor == null ? undefined : decodeCursor(scope, cursor);

  const matching = query.clone();
  if (where !== undefined) matching.andWhere(where.sql, where.parameters);
  // Counting reads all matching rows, so only the first page does.
  const countLimit = input.count_limit ?? Infinity;
  const counted: CountedRows =
    position ??
    (isSnapshot && where !== undefined ? await noteRows(matching, countLimit) : await countRows(matching, countLimit));
  const page = counted.places === undefined ? matching.clone() : atPlaces(query, counted.places);
  if (position !== undefined) {
    const after = afterRow(order, position.values);
    page.andWhere(after.sql, after.parameters);
  }
  if (offset != null) page.offset(offset);
  orderQuery(page, order);

  const isWhole = position === undefined && counted.totalCount <= countLimit;
  const expected = isWhole ? Math.min(limit, counted.totalCount) : limit;
  const { items, hasMore } =
    expected === 0
      ? { items: [], hasMore: false }
      : spec.rowBytes === undefined
        ? await readShortRows(page, limit, expected, answer)
        : await readMeasuredRows(page, limit, spec.rowBytes, answer);
  const totalCount = Math.max(counted.totalCount, Math.min(items.length, countLimit + 1));
  const last = items.at(-1);
  const nextCursor =
    hasMore && last !== undefined ? encodeCursor(scope, { values: orderValues(last, order), totalCount }) : null;
  return { items, totalCount, hasMore, nextCursor };
}

interface CountedRows {
  /** How many rows match; `limit + 1` if there are more than `limit`. */
  readonly totalCount: number;
  /** Where the rows are, if they were noted and are few. */
  readonly places?: readonly string[];
}

async function countRows<E extends ObjectLiteral>(
  matching: SelectQueryBuilder<E>,
  limit: number,
): Promise<CountedRows> {
  if (limit === Infinity) return { totalCount: await matching.getCount() };
  const { totalCount } = await aggregate<CountedRows>(
    matching
      .clone()
      .select('1', 'one')
      .limit(limit + 1),
    [['count(*)::integer', 'totalCount']],
  );
  return { totalCount };
}

/** Counts as `countRows`, and notes where the rows are. The snapshot keeps them there. */
async function noteRows<E extends ObjectLiteral>(matching: SelectQueryBuilder<E>, limit: number): Promise<CountedRows> {
  const rows = matching.clone().select(`${matching.alias}.ctid`, 'place').addSelect('row_number() OVER ()', 'number');
  if (limit !== Infinity) rows.limit(limit + 1);
  const { totalCount, places } = await aggregate<{ totalCount: number; places: string[] | null }>(rows, [
    ['count(*)::integer', 'totalCount'],
    [`array_agg(place::text) FILTER (WHERE number <= ${MAX_NOTED})`, 'places'],
  ]);
  return totalCount > MAX_NOTED || totalCount > limit ? { totalCount } : { totalCount, places: places ?? [] };
}

/** The one row of aggregates of a query's rows. */
async function aggregate<Row extends object>(
  rows: SelectQueryBuilder<ObjectLiteral>,
  columns: readonly (readonly [string, string])[],
): Promise<Row> {
  const query = rows.createQueryBuilder().select([]).from(`(${rows.getQuery()})`, 'counted');
  for (const [sql, name] of columns) query.addSelect(sql, name);
  const row = await query.setParameters(rows.getParameters()).getRawOne<Row>();
  if (row === undefined) throw new Error('Aggregates without groups have one row.');
  return row;
}

function atPlaces<E extends ObjectLiteral>(
  query: SelectQueryBuilder<E>,
  places: readonly string[],
): SelectQueryBuilder<E> {
  return query.clone().andWhere(`${query.alias}.ctid = ANY(CAST(:list_places AS tid[]))`, { list_places: places });
}

type PageRows<E> = Pick<Page<E>, 'items' | 'hasMore'>;

/** @param expected how many rows there are, as far as they were counted */
async function readShortRows<E extends ObjectLiteral>(
  page: SelectQueryBuilder<E>,
  limit: number,
  expected: number,
  answer: HeldAnswer,
): Promise<PageRows<E>> {
  const reserve = (count: number): void => answer.reserve(count * SHORT_ROW_BYTES * HELD_PER_JSON_BYTE);
  reserve(expected);
  const rows = await page.limit(limit + 1).getMany();
  // Outside of a snapshot, rows can be added after the count.
  if (rows.length > expected) reserve(Math.min(rows.length, limit) - expected);
  return { items: rows.slice(0, limit), hasMore: rows.length > limit };
}

/**
 * @param rowBytes an SQL expression
 * @param reserved the bytes that are reserved already
 */
async function readMeasuredRows<E extends ObjectLiteral>(
  page: SelectQueryBuilder<E>,
  limit: number,
  rowBytes: string,
  answer: HeldAnswer,
  reserved = 0,
): Promise<PageRows<E>> {
  const sizes = await measureRows(page, limit, rowBytes);
  const { count, bytes } = fittingRows(sizes.slice(0, limit));
  answer.reserve(Math.max(bytes - reserved, 0) * HELD_PER_JSON_BYTE);
  if (count === 0) return { items: [], hasMore: false };
  const isLastPage = sizes.length === count;
  const rows = await page
    .clone()
    .limit(isLastPage ? count + 1 : count)
    .getMany();
  const hasGrown = isLastPage && rows.length > count;
  // A row that was added since then would take the place of the last one that was measured.
  if (hasGrown && count < limit) return readMeasuredRows(page, limit, rowBytes, answer, Math.max(bytes, reserved));
  return { items: rows.slice(0, count), hasMore: hasGrown || (rows.length > 0 && !isLastPage) };
}

/**
 * The sizes of the rows, up to `limit + 1`, or of as many as are more than a page. Measuring a large row unpacks it. So
 * rows are measured in batches, which grow because each of them finds the rows before it again.
 */
async function measureRows<E extends ObjectLiteral>(
  page: SelectQueryBuilder<E>,
  limit: number,
  rowBytes: string,
): Promise<number[]> {
  const place = `${page.alias}.ctid`;
  const offset = page.expressionMap.offset ?? 0;
  const sizes: number[] = [];
  for (let batch = FIRST_BATCH; ; batch *= 4) {
    const count = Math.min(batch, limit + 1 - sizes.length);
    const skipped = offset + sizes.length;
    const found = page.clone().offset(skipped).limit(count);
    // PostgreSQL would also unpack the rows that an offset leaves out.
    const places = skipped === 0 ? undefined : `${place} = ANY(ARRAY(${found.select(place).getQuery()}))`;
    const measuring = places === undefined ? found : page.clone().where(places).offset(undefined);
    const rows = await measuring.select(rowBytes, 'bytes').getRawMany<{ bytes: string }>();
    sizes.push(...rows.map(({ bytes }) => Number(bytes)));
    if (rows.length < count || sizes.length > limit || fittingRows(sizes).count < sizes.length) return sizes;
  }
}

/** How many of the rows, from the first, form a page, and their bytes. */
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
  for (const term of order) query.addOrderBy(orderColumn(term), term.direction === 'asc' ? 'ASC' : 'DESC');
}

function orderValues(row: object, order: readonly OrderTerm[]): FieldValue[] {
  return order.map(({ name, field }) => {
    const property = field.column.slice(field.column.indexOf('.') + 1);
    const raw: unknown = field.order === undefined ? Reflect.get(row, property) : field.order.valueOf(row as never);
    const value = readFieldValue(field, raw instanceof Date ? raw.toISOString() : raw);
    if (value === undefined) throw new Error(`The order field ${name} was not read as ${field.type}.`);
    return value;
  });
}

/**
 * The condition for the rows after the one with these order values. An index on the terms, or on the first of them, can
 * start at that row. For (a asc, b asc) it is `(a, b) > (:a, :b)`, for mixed directions see `afterFrom`.
 * @param values one for each term
 */
function afterRow(order: readonly OrderTerm[], values: readonly FieldValue[]): SqlClause {
  const parameters = Object.fromEntries(values.map((value, index) => [parameterName(index), value]));
  const isMixed = order.some(({ direction }) => direction !== order[0]?.direction);
  if (isMixed) return { sql: afterFrom(order, 0), parameters };
  const columns = order.map(orderColumn).join(', ');
  const bounds = order.map(boundOf).join(', ');
  return { sql: `(${columns}) ${signOf(order[0])} (${bounds})`, parameters };
}

/** For (a asc, b desc): `(a >= :a AND (a > :a OR b < :b))`. */
function afterFrom(order: readonly OrderTerm[], index: number): string {
  const term = order[index];
  if (term === undefined) return 'FALSE';
  const column = orderColumn(term);
  const sign = signOf(term);
  const bound = boundOf(term, index);
  if (index === order.length - 1) return `${column} ${sign} ${bound}`;
  return `(${column} ${sign}= ${bound} AND (${column} ${sign} ${bound} OR ${afterFrom(order, index + 1)}))`;
}

function signOf(term: OrderTerm | undefined): '>' | '<' {
  return term?.direction === 'desc' ? '<' : '>';
}

function boundOf({ field }: OrderTerm, index: number): string {
  return placeholder(field, parameterName(index));
}

function parameterName(index: number): string {
  return `list_after_${index}`;
}
