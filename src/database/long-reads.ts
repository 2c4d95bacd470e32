import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager, type ObjectLiteral, QueryFailedError, type SelectQueryBuilder } from 'typeorm';
import type { HeldAnswer } from '../common/answers/answer-budget.js';
import { DomainError } from '../common/domain-error.js';
import { OrganizationSlots } from '../common/organization-slots.js';
import { coversAllRows } from '../common/paging/covers-all-rows.js';
import type { ListInput } from '../common/paging/list-input.js';
import type { ListSpec } from '../common/paging/list-spec.js';
import { type Page, paginate } from '../common/paging/paginate.js';

const READ_WITHIN_MS = 10_000;
/** Enough to sort a million durations in memory. */
const SORT_MEMORY = '64MB';
/** `query_canceled`: the error of a statement that exceeds its timeout. */
const QUERY_CANCELED = '57014';
/** A third of the pool: the other connections are for short statements. */
const SLOTS = { slots: 6, perOrganization: 3, maxWaiting: 30, waitMs: 10_000 };

/** Reads that can cover millions of rows. An organization has few of them at a time in each process. */
@Injectable()
export class LongReads {
  private readonly slots = new OrganizationSlots(SLOTS);

  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /**
   * Runs queries on one snapshot, so that what they count adds up, each for at most 10 s.
   * @throws DomainError `invalid_request` if a query takes longer, `too_many_requests` if too many reads of the organization wait
   */
  read<T>(organizationId: string, work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.slots.within(organizationId, () => this.readNow(work));
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
    const readPage = (manager: EntityManager): Promise<Page<E>> => paginate(queryOf(manager), spec, input, answer);
    return coversAllRows(input, spec) ? this.read(organizationId, readPage) : readPage(this.database.manager);
  }

  private async readNow<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    try {
      return await this.database.transaction('REPEATABLE READ', async (manager) => {
        await manager.query(`SET LOCAL statement_timeout = ${READ_WITHIN_MS}; SET LOCAL work_mem = '${SORT_MEMORY}'`);
        return work(manager);
      });
    } catch (error) {
      if (!isCanceled(error)) throw error;
      throw new DomainError(
        'invalid_request',
        'The query covers too many records. Request a shorter time range, or fewer conditions.',
      );
    }
  }
}

function isCanceled(error: unknown): boolean {
  return error instanceof QueryFailedError && 'code' in error.driverError && error.driverError.code === QUERY_CANCELED;
}
