import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { databaseDate } from '../../core/database-time.js';
import { readTimeRange } from '../../core/paging/time-range.js';
import type { Principal } from '../../core/principal.js';
import type { UsageStats, UsageStatsInput } from './usage.dto.js';
import { UsageRepository } from './usage.repository.js';

const DEFAULT_RANGE_MS = 30 * 86_400_000;
const MAX_GROUPS = 1_000;

/** What an organization has used. */
@Injectable()
export class UsageService {
  constructor(private readonly usage: UsageRepository) {}

  /** @throws DomainError `invalid_request` */
  async stats(input: UsageStatsInput, caller: Principal, { callerLeft }: HeldAnswer): Promise<UsageStats> {
    const { by } = input;
    const { from, to } = readTimeRange(input, databaseDate(), DEFAULT_RANGE_MS);
    const question = { organizationId: caller.organization.id, from, to, by };
    const { total, groups, spend } = await this.usage.count(question, MAX_GROUPS, callerLeft);
    return {
      from: from.toISOString(),
      to: to.toISOString(),
      by,
      total,
      groups: groups.slice(0, MAX_GROUPS),
      truncated: groups.length > MAX_GROUPS,
      spend,
    };
  }
}
