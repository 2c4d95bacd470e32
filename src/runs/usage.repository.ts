import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import { DomainError } from '../common/domain-error.js';
import type { TimeRange } from '../common/paging/time-range.js';
import type { UsageCounts, UsageGroup, UsageGrouping } from './usage.dto.js';

const READ_WITHIN_MS = 10_000;
/** `query_canceled`: what a statement that takes too long ends with. */
const QUERY_CANCELED = '57014';

const GROUPS: Readonly<Record<UsageGrouping, string>> = {
  agent: 'agent_id::text',
  model: 'model',
  key: 'api_key_id::text',
  day: `to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
};

const tokens = (field: string): string => `coalesce(sum((usage->>'${field}')::numeric), 0)::float8`;

const COUNTS = `
  count(*)::integer AS runs,
  (count(*) FILTER (WHERE status = 'completed'))::integer AS completed,
  (count(*) FILTER (WHERE status = 'failed'))::integer AS failed,
  (count(*) FILTER (WHERE status = 'cancelled'))::integer AS cancelled,
  ${tokens('inputTokens')} AS input_tokens,
  ${tokens('outputTokens')} AS output_tokens,
  ${tokens('totalTokens')} AS total_tokens`;

const IN_QUESTION = 'FROM runs WHERE organization_id = $1 AND created_at >= $2 AND created_at < $3';

/** What is counted, of one organization. */
export interface UsageQuestion extends TimeRange {
  readonly organizationId: string;
  readonly by: UsageGrouping;
}

/** Counts runs and their tokens. */
@Injectable()
export class UsageRepository {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /**
   * The total and its groups from one snapshot, so that they add up; one group more than `maxGroups` if there are more.
   * @throws DomainError `invalid_request` for a question that takes longer than 10 s
   */
  async count(question: UsageQuestion, maxGroups: number): Promise<{ total: UsageCounts; groups: UsageGroup[] }> {
    const { organizationId, from, to, by } = question;
    const scope = [organizationId, from, to];
    const order = by === 'day' ? '1' : 'total_tokens DESC, runs DESC, 1';
    try {
      return await this.database.transaction('REPEATABLE READ', async (manager: EntityManager) => {
        await manager.query(`SET LOCAL statement_timeout = ${READ_WITHIN_MS}`);
        const [total]: UsageCounts[] = await manager.query(`SELECT ${COUNTS} ${IN_QUESTION}`, scope);
        if (total === undefined) throw new Error('An aggregate without GROUP BY has one row.');
        const groups: UsageGroup[] = await manager.query(
          `SELECT ${GROUPS[by]} AS "group", ${COUNTS} ${IN_QUESTION} GROUP BY 1 ORDER BY ${order} LIMIT $4`,
          [...scope, maxGroups + 1],
        );
        return { total, groups };
      });
    } catch (error) {
      if (!(error instanceof QueryFailedError && 'code' in error.driverError)) throw error;
      if (error.driverError.code !== QUERY_CANCELED) throw error;
      throw new DomainError('invalid_request', 'There are too many runs for this; ask for a shorter time.');
    }
  }
}
