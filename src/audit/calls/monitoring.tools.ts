import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { ManagementTool, READ_ONLY } from '../../core/tools/management-tool.js';
import { ListInput } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { MonitoringLogPage, MonitoringStats, MonitoringStatsInput } from './monitoring.dto.js';
import { MonitoringService } from './monitoring.service.js';

@Injectable()
export class MonitoringTools {
  constructor(private readonly service: MonitoringService) {}

  @ManagementTool({
    name: 'MONITORING_LOGS_LIST',
    description:
      "Lists the organization's tool invocations, allowed and denied, newest first. You can filter by every " +
      'property of an item except names, arguments and result, and by management (the calls of management tools); ' +
      'and order by those that are not nullable.',
    input: ListInput,
    output: MonitoringLogPage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<MonitoringLogPage> {
    return this.service.list(input, caller, answer);
  }

  @ManagementTool({
    name: 'MONITORING_STATS',
    description:
      'Counts tool invocations, errors and denials, with latency percentiles, per tool of a connection and over ' +
      'time, and by connection, agent, API key or person with group_by; over_time: true counts all calls and the ' +
      'groups over time, too. include_management: false leaves out management tools. Covers the last 24 hours unless ' +
      'from and to are set, and the 50 tools and groups with the most calls.',
    input: MonitoringStatsInput,
    output: MonitoringStats,
    annotations: READ_ONLY,
  })
  stats(input: MonitoringStatsInput, caller: Principal, answer: HeldAnswer): Promise<MonitoringStats> {
    return this.service.stats(input, caller, answer);
  }
}
