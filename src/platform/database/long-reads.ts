import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import {
  DataSource,
  type EntityManager,
  type ObjectLiteral,
  QueryFailedError,
  type SelectQueryBuilder,
  type QueryRunner,
} from 'typeorm';
import { type HeldAnswer, endIfCallerLeft } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { coversAllRows, searchesWords } from '../../core/paging/covers-all-rows.js';
import type { ListInput } from '../../core/paging/list-input.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import { type Page, paginate } from '../../core/paging/paginate.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { atMost, Shares } from '../../core/sharing/shares.js';
import { PreparedStatements } from './prepared-statements.js';
import { databaseDate } from '../../core/database-time.js';
import { isRecord } from '../../core/is-record.js';
import { compileWhere } from '../../core/paging/where-clause.js';

/** How many rows a query of a scan examines at most, whatever the filter selects of them. */
const ROWS_PER_BATCH = 500;

/** A row of a log: rows are added with the time of their insertion, and never change. */
interface LogRow extends ObjectLiteral {
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
function scanRecords<E extends LogRow>(
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

const RETRY_AFTER_S = '1';
const READ_WITHIN_MS = 10_000;
/** Enough to sort a million durations in memory. */
const SORT_MEMORY = '64MB';
/** `query_canceled`: the error of a statement that exceeds its timeout, or that was canceled. */
const QUERY_CANCELED = '57014';
/** A statement that begins while the one before it is canceled goes on until it is canceled itself. */
const CANCEL_EVERY_MS = 200;

const CANCEL = { name: 'cancel_statement', text: 'SELECT pg_cancel_backend($1::integer)' };

/**
 * Reads that can cover millions of rows. An organization has few of them at a time in each process, and each ends with
 * its caller.
 */
@Injectable()
export class LongReads {
  /** Of the 20 connections of the pool, some are always left for short statements. */
  private readonly slots = {
    /** Counts and searches of all rows. */
    whole: slots(6, 3, 30, 10_000),
    /** Pages of many large rows. Most take milliseconds. */
    page: slots(6, 4, 500, 10_000),
    /** Batches of scans, which wait for each other as long as their callers stay. */
    scan: slots(2, 1, Infinity),
  };

  constructor(
    @InjectDataSource() private readonly database: DataSource,
    private readonly statements: PreparedStatements,
  ) {}

  /**
   * Runs queries on one snapshot, so that what they count adds up, each for at most 10 s.
   * @param callerLeft cancels the running statement. The read keeps its slot until that has ended.
   * @throws DomainError `invalid_request` if a query takes longer, `too_many_requests` if too many reads of the
   *   organization wait,
   * `request_abandoned` if the caller has left
   */
  async read<T>(
    organizationId: string,
    callerLeft: AbortSignal,
    work: (manager: EntityManager) => Promise<T>,
    kind: keyof LongReads['slots'] = 'whole',
  ): Promise<T> {
    try {
      return await this.slots[kind].within([organizationId], () => this.readNow(callerLeft, work), callerLeft);
    } catch (error) {
      endIfCallerLeft({ callerLeft });
      if (!isCanceled(error)) throw error;
      throw new DomainError(
        'invalid_request',
        'The query covers too many records. Request a shorter time range, or fewer conditions.',
      );
    }
  }

  /**
   * A page of a list that can have millions of rows, see `paginate`. It is a long read only if it covers all of them.
   * @param queryOf makes the query of the list
   * @throws DomainError as `read` and `paginate` do
   */
  page<E extends ObjectLiteral>(
    organizationId: string,
    queryOf: (manager: EntityManager) => SelectQueryBuilder<E>,
    spec: ListSpec,
    input: ListInput,
    answer: HeldAnswer,
  ): Promise<Page<E>> {
    const readPage = (manager: EntityManager, isSnapshot: boolean): Promise<Page<E>> =>
      paginate(queryOf(manager), spec, input, answer, { isSnapshot });
    return coversAllRows(input, spec)
      ? this.readFound(organizationId, input.where, answer.callerLeft, (manager) => readPage(manager, true))
      : readPage(this.database.manager, false);
  }

  /**
   * A `read` of rows that the `where` of a list selects. A search for words reads its index, however many rows match:
   * the planner takes the words of all rows for cheap, which are computed from each text.
   * @throws DomainError as `read`
   */
  readFound<T>(
    organizationId: string,
    where: unknown,
    callerLeft: AbortSignal,
    work: (manager: EntityManager) => Promise<T>,
  ): Promise<T> {
    return this.read(organizationId, callerLeft, async (manager) => {
      if (searchesWords(where)) await manager.query('SET LOCAL enable_seqscan = off');
      return work(manager);
    });
  }

  /**
   * All rows of a log that a filter selects, see `scanRecords`. Each batch is a read of its own, in its turn with the
   * scans of other organizations.
   * @param queryOf selects the rows that the caller can see
   * @throws DomainError as `read` and `scanRecords` do
   */
  scan<E extends LogRow>(
    organizationId: string,
    queryOf: (manager: EntityManager) => SelectQueryBuilder<E>,
    spec: ListSpec,
    where: Readonly<Record<string, unknown>> | undefined,
    callerLeft: AbortSignal,
  ): AsyncGenerator<E[]> {
    const read = <T>(work: (manager: EntityManager) => Promise<T>): Promise<T> =>
      this.read(organizationId, callerLeft, work, 'scan');
    return scanRecords(queryOf(this.database.manager), spec, where, read);
  }

  private readNow<T>(callerLeft: AbortSignal, work: (manager: EntityManager) => Promise<T>): Promise<T> {
    // A read next to others has no parallel workers: two of them for each read would keep short statements from the
    // processors.
    const isAlone = this.slots.whole.held <= 1;
    return this.database.transaction('REPEATABLE READ', async (manager) => {
      const [{ pid }]: [{ pid: number }] = await manager.query(
        `SELECT pg_backend_pid() AS pid, set_config('statement_timeout', '${READ_WITHIN_MS}', true),
                set_config('work_mem', '${SORT_MEMORY}', true)
                ${isAlone ? '' : `, set_config('max_parallel_workers_per_gather', '0', true)`}`,
      );
      return this.cancelOnceLeft(pid, callerLeft, () => work(manager));
    });
  }

  /** Settles when no cancellation is under way: a later one would hit a statement of the connection's next user. */
  private async cancelOnceLeft<T>(pid: number, callerLeft: AbortSignal, work: () => Promise<T>): Promise<T> {
    callerLeft.throwIfAborted();
    const ended = new AbortController();
    const { signal } = ended;
    let canceling: Promise<void> | undefined;
    const cancel = async (): Promise<void> => {
      while (!signal.aborted) {
        // Without an answer, the timeout of the statement ends it.
        await this.statements.rowsByKey(CANCEL, [pid]).catch(() => undefined);
        await sleep(CANCEL_EVERY_MS, undefined, { signal }).catch(() => undefined);
      }
    };
    const onLeft = (): void => void (canceling = cancel());
    callerLeft.addEventListener('abort', onLeft, { once: true });
    try {
      return await work();
    } finally {
      ended.abort();
      callerLeft.removeEventListener('abort', onLeft);
      await canceling;
    }
  }
}

function slots(capacity: number, perOrganization: number, waiting: number, waitMs?: number): FairShare {
  return new FairShare({
    capacity,
    limits: [atMost(perOrganization)],
    places: new Shares(Infinity, [atMost(waiting)]),
    ...(waitMs !== undefined && { waitMs }),
    refusal: () =>
      new DomainError(
        'too_many_requests',
        'Too many expensive queries of the organization are in progress. Retry shortly.',
        [],
        { headers: { 'retry-after': RETRY_AFTER_S } },
      ),
  });
}

function isCanceled(error: unknown): boolean {
  return error instanceof QueryFailedError && 'code' in error.driverError && error.driverError.code === QUERY_CANCELED;
}
