import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { ManagementTool, READ_ONLY } from '../../core/tools/management-tool.js';
import type { Principal } from '../../core/principal.js';
import { RunStats, RunStatsInput } from './run-stats.dto.js';
import { RunStatsService } from './run-stats.service.js';
import { UsageStats, UsageStatsInput } from './usage.dto.js';
import { UsageService } from './usage.service.js';

@Injectable()
export class UsageTools {
  constructor(
    private readonly service: UsageService,
    private readonly runs: RunStatsService,
  ) {}

  @ManagementTool({
    name: 'USAGE_STATS',
    description:
      "Counts the organization's runs, the tokens that they used and what they cost, by agent, model, API key, " +
      'person or day. Runs belong to the time when they were posted. The last 30 days unless from and to say otherwise; at ' +
      'most 1,000 groups. spend shows each spending limit with what is used, reserved and left in its current window.',
    input: UsageStatsInput,
    output: UsageStats,
    annotations: READ_ONLY,
  })
  stats(input: UsageStatsInput, caller: Principal, answer: HeldAnswer): Promise<UsageStats> {
    return this.service.stats(input, caller, answer);
  }

  @ManagementTool({
    name: 'RUN_STATS',
    description:
      "Counts the organization's runs by status with their tokens, costs and durations: in total, over time, by " +
      'agent, by model and by the code of the error; and the approvals that wait now. Runs belong to the time when they were posted. Covers ' +
      'the last 24 hours unless from and to are set.',
    input: RunStatsInput,
    output: RunStats,
    annotations: READ_ONLY,
  })
  runStats(input: RunStatsInput, caller: Principal, answer: HeldAnswer): Promise<RunStats> {
    return this.runs.stats(input, caller, answer);
  }
}
