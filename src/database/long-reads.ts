import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import { DomainError } from '../common/domain-error.js';
import { OrganizationSlots } from '../common/organization-slots.js';

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

  private async readNow<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    try {
      return await this.database.transaction('REPEATABLE READ', async (manager) => {
        await manager.query(`SET LOCAL statement_timeout = ${READ_WITHIN_MS}; SET LOCAL work_mem = '${SORT_MEMORY}'`);
        return work(manager);
      });
    } catch (error) {
      if (!isCanceled(error)) throw error;
      throw new DomainError('invalid_request', 'The query covers too many records. Request a shorter time range.');
    }
  }
}

function isCanceled(error: unknown): boolean {
  return error instanceof QueryFailedError && 'code' in error.driverError && error.driverError.code === QUERY_CANCELED;
}
