import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AgentsModule } from '../../agents/agents.module.js';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { LimitsModule } from '../../platform/limits/limits.module.js';
import { RunRecordsModule } from '../../runtime/runs/records/run-records.module.js';
import { RunQueueModule } from '../../runtime/runs/run-queue.module.js';
import { TelemetryModule } from '../../platform/telemetry/telemetry.module.js';
import { ThreadsModule } from '../../runtime/threads/threads.module.js';
import { UsersModule } from '../../identity/users/users.module.js';
import { ScheduleEntity } from './schedule.entity.js';
import { ScheduleRepository } from './schedule.repository.js';
import { ScheduleRunner } from './schedule-runner.js';
import { ScheduleService } from './schedule.service.js';
import { ScheduleTools } from './schedule.tools.js';
import { Scheduler } from './scheduler.js';

/** Messages that are posted at the times of cron expressions. */
@Module({
  imports: [
    TypeOrmModule.forFeature([ScheduleEntity]),
    AgentsModule,
    CredentialsModule,
    LimitsModule,
    RunRecordsModule,
    RunQueueModule,
    TelemetryModule,
    ThreadsModule,
    UsersModule,
  ],
  providers: [ScheduleRepository, ScheduleRunner, ScheduleService, ScheduleTools, Scheduler],
})
export class SchedulesModule {}
