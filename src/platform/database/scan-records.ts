import type { EntityManager, ObjectLiteral, SelectQueryBuilder, QueryRunner } from 'typeorm';
import type { ListSpec } from '../../core/paging/list-spec.js';
import { databaseDate } from '../../core/database-time.js';
import { isRecord } from '../../core/is-record.js';
import { compileWhere } from '../../core/paging/where-clause.js';

/** How many rows a query of a scan examines at most, whatever the filter selects of them. */
const ROWS_PER_BATCH = 500;

/** A row of a log: rows are added with the time of their insertion, and never change. */
export interface LogRow extends ObjectLiteral {
  readonly at: Date;
  readonly id: string;
}

type Position = Pick<LogRow, 'at' | 'id'>;

/** Runs the queries of a batch in a transaction. */
type ReadBatch = <T>(work: (manager: EntityManager) => Promise<T>) => Promise<T>;

/** The selected rows of a batch, and the last row that was examined; undefined if none is left after it. */
interface Batch<E> {
  readonly rows: E[];
  readonly last: Position | undefined;
}

/**
 * Reads all rows of a log that a filter selects, newest first, in batches of at most `ROWS_PER_BATCH`. Rows that are
 * added meanwhile are left out. Each query examines a bounded number of rows by the primary key `(…, at, id)`, so that
 * a scan of millions of rows holds neither memory nor a snapshot of the database, and stops soon after its caller does.
 * @param query selects the rows that the caller can see; its alias is that of the columns in `spec`
 * @param where of a LIST of `spec`
 * @param read runs each batch; its rejection ends the scan
 * @throws DomainError `invalid_request` for a where that the list does not publish, before the first batch
 */
export function scanRecords<E extends LogRow>(
  query: SelectQueryBuilder<E>,
  spec: ListSpec,
  where: Readonly<Record<string, unknown>> | undefined,
  read: ReadBatch,
): AsyncGenerator<E[]> {
  const filter = where === undefined ? undefined : compileWhere(where, spec);
  const range = query.clone().andWhere(`${query.alias}.at < :scan_start`, { scan_start: databaseDate() });
  const conditions = timeConditions(where);
  if (conditions.length > 0) {
    // The filter repeats these conditions; here they also bound the rows that are examined.
    const { sql, parameters } = compileWhere({ operator: 'and', conditions }, spec);
    const renamed = Object.entries(parameters).map(([name, value]) => [`scan_${name}`, value]);
    range.andWhere(sql.replaceAll(':list_where', ':scan_list_where'), Object.fromEntries(renamed));
  }
  return batches(range, filter, read);
}

/** Statistics of a table can be missing or old; an order by the primary key is never worth a sort. */
const ALWAYS_BY_KEY = 'SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = off';

async function* batches<E extends LogRow>(
  range: SelectQueryBuilder<E>,
  filter: ReturnType<typeof compileWhere> | undefined,
  read: ReadBatch,
): AsyncGenerator<E[]> {
  const { alias } = range;
  for (let rest: SelectQueryBuilder<E> | undefined = range; rest !== undefined;) {
    const current: SelectQueryBuilder<E> = rest;
    const { rows, last } = await read((manager) => readBatch(manager, current, filter));
    if (rows.length > 0) yield rows;
    rest =
      last &&
      range
        .clone()
        .andWhere(`(${alias}.at, ${alias}.id) < (:rest_at, :rest_id)`, { rest_at: last.at, rest_id: last.id });
  }
}

async function readBatch<E extends LogRow>(
  manager: EntityManager,
  rest: SelectQueryBuilder<E>,
  filter: ReturnType<typeof compileWhere> | undefined,
): Promise<Batch<E>> {
  const { alias } = rest;
  await manager.query(ALWAYS_BY_KEY);
  const batch = rest.clone().setQueryRunner(manager.queryRunner as QueryRunner);
  batch.orderBy(`${alias}.at`, 'DESC').addOrderBy(`${alias}.id`, 'DESC');
  const last = await batch
    .clone()
    .select(`${alias}.at`, 'at')
    .addSelect(`${alias}.id`, 'id')
    .offset(ROWS_PER_BATCH - 1)
    .limit(1)
    .getRawOne<Position>();
  if (last !== undefined) {
    batch.andWhere(`(${alias}.at, ${alias}.id) >= (:batch_at, :batch_id)`, { batch_at: last.at, batch_id: last.id });
  }
  if (filter !== undefined) batch.andWhere(filter.sql, filter.parameters);
  return { rows: await batch.getMany(), last };
}

/** The conditions on `at` that every selected row meets. */
function timeConditions(where: unknown): unknown[] {
  if (!isRecord(where)) return [];
  if (where['operator'] === 'and' && Array.isArray(where['conditions']))
    return where['conditions'].flatMap(timeConditions);
  const { field } = where;
  return Array.isArray(field) && field[0] === 'at' ? [where] : [];
}
