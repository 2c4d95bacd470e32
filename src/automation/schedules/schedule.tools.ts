import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { ListInput } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import {
  ScheduleCreateInput,
  ScheduleIdInput,
  ScheduleOutput,
  SchedulePage,
  ScheduleRunOutput,
  ScheduleUpdateInput,
} from './schedule.dto.js';
import { ScheduleService } from './schedule.service.js';

@Injectable()
export class ScheduleTools {
  constructor(private readonly schedules: ScheduleService) {}

  @ManagementTool({
    name: 'SCHEDULE_CREATE',
    description:
      'Creates a schedule: a message to an agent that is posted at the times of a cron expression, for the caller.',
    input: ScheduleCreateInput,
    output: ScheduleOutput,
    annotations: CREATES,
  })
  async create(input: ScheduleCreateInput, caller: Principal): Promise<ScheduleOutput> {
    return { item: await this.schedules.create(input.data, caller) };
  }

  @ManagementTool({
    name: 'SCHEDULE_LIST',
    description: "Lists the organization's schedules, newest first by default.",
    input: ListInput,
    output: SchedulePage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<SchedulePage> {
    return this.schedules.list(input, caller, answer);
  }

  @ManagementTool({
    name: 'SCHEDULE_GET',
    description: 'Reads a schedule: its next time, its last run, and why it skipped a time or was disabled.',
    input: ScheduleIdInput,
    output: ScheduleOutput,
    annotations: READ_ONLY,
  })
  async get(input: ScheduleIdInput, caller: Principal): Promise<ScheduleOutput> {
    return { item: await this.schedules.get(input.id, caller) };
  }

  @ManagementTool({
    name: 'SCHEDULE_UPDATE',
    description:
      'Changes a schedule. Absent properties keep their value. If more than the title is sent, the schedule acts ' +
      'for the caller from then on; disabling it does not change that.',
    input: ScheduleUpdateInput,
    output: ScheduleOutput,
    annotations: UPDATES,
  })
  async update(input: ScheduleUpdateInput, caller: Principal): Promise<ScheduleOutput> {
    return { item: await this.schedules.update(input.id, input.data, caller) };
  }

  @ManagementTool({
    name: 'SCHEDULE_DELETE',
    description: 'Deletes a schedule. Its runs and threads stay.',
    input: ScheduleIdInput,
    output: ScheduleOutput,
    annotations: DESTROYS,
  })
  async delete(input: ScheduleIdInput, caller: Principal): Promise<ScheduleOutput> {
    return { item: await this.schedules.delete(input.id, caller) };
  }

  @ManagementTool({
    name: 'SCHEDULE_RUN',
    description:
      'Posts a run of a schedule now, for its creator, also if the schedule is disabled or its previous run is open.',
    input: ScheduleIdInput,
    output: ScheduleRunOutput,
    annotations: CREATES,
  })
  run(input: ScheduleIdInput, caller: Principal): Promise<ScheduleRunOutput> {
    return this.schedules.run(input.id, caller);
  }
}
