import { Injectable } from '@nestjs/common';
import { ManagementTool, READ_ONLY } from '../common/tools/management-tool.js';
import type { Principal } from '../common/principal.js';
import { UsageStats, UsageStatsInput } from './usage.dto.js';
import { UsageService } from './usage.service.js';

@Injectable()
export class UsageTools {
  constructor(private readonly service: UsageService) {}

  @ManagementTool({
    name: 'USAGE_STATS',
    description:
      "Counts the organization's runs and the tokens that they used, by agent, model, API key or day. Runs belong to the time " +
      'when they were posted. The last 30 days unless from and to say otherwise; at most 1,000 groups.',
    input: UsageStatsInput,
    output: UsageStats,
    annotations: READ_ONLY,
  })
  stats(input: UsageStatsInput, caller: Principal): Promise<UsageStats> {
    return this.service.stats(input, caller);
  }
}
