import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import { DomainError } from '../common/domain-error.js';

const READ_WITHIN_MS = 10_000;
/** Enough to sort a million durations in memory. */
const SORT_MEMORY = '64MB';
/** `query_canceled`: what a statement that takes too long ends with. */
const QUERY_CANCELED = '57014';

/** Reads statistics of runs. */
@Injectable()
export class RunReads {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /**
   * Runs queries on one snapshot, so that what they count adds up, each for at most 10 s.
   * @throws DomainError `invalid_request` if a query takes longer
   */
  async read<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    try {
      return await this.database.transaction('REPEATABLE READ', async (manager) => {
        await manager.query(`SET LOCAL statement_timeout = ${READ_WITHIN_MS}; SET LOCAL work_mem = '${SORT_MEMORY}'`);
        return work(manager);
      });
    } catch (error) {
      if (!(error instanceof QueryFailedError && 'code' in error.driverError)) throw error;
      if (error.driverError.code !== QUERY_CANCELED) throw error;
      throw new DomainError('invalid_request', 'There are too many runs for this; ask for a shorter time.');
    }
  }
}
