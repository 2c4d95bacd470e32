import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager, type ObjectLiteral, QueryFailedError, type SelectQueryBuilder } from 'typeorm';
import { type HeldAnswer, endIfCallerLeft } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { coversAllRows, searchesWords } from '../../core/paging/covers-all-rows.js';
import type { ListInput } from '../../core/paging/list-input.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import { type Page, paginate } from '../../core/paging/paginate.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { atMost, Shares } from '../../core/sharing/shares.js';
import { PreparedStatements } from './prepared-statements.js';
import { type LogRow, scanRecords } from './scan-records.js';

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
