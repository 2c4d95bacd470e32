import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { LongReadsModule } from '../../../platform/database/long-reads.module.js';
import { PreparedStatementsModule } from '../../../platform/database/prepared-statements.module.js';
import { VaultModule } from '../../../platform/vault/vault.module.js';
import { NamesModule } from '../../../core/names/names.module.js';
import { ApprovalAnswers } from './approval-closing.js';
import { LostAttempts } from './lost-attempts.js';
import { ModelRecordingEntity } from './model-recording.entity.js';
import { ModelRecordings } from './model-recordings.js';
import { OpenRuns } from './open-runs.js';
import { RunApprovalEntity } from './run-approval.entity.js';
import { RunApprovals } from './run-approvals.js';
import { RunCancelling, RunRevocation } from './run-ending.js';
import { RunEntity } from './run.entity.js';
import { RunExecution } from './run-execution.js';
import { RunPosting, RunRegeneration } from './run-posting.js';
import { RunQuestions } from './run-list.js';
import { RunReader } from './run-reader.js';
import { RunSpending } from './run-spending.js';
import { RunSteerEntity } from './run-steer.entity.js';
import { RunSteering } from './run-steering.js';
import { RunTurns } from './run-turns.js';

const RECORDS = [
  ApprovalAnswers,
  LostAttempts,
  ModelRecordings,
  OpenRuns,
  RunApprovals,
  RunCancelling,
  RunExecution,
  RunPosting,
  RunQuestions,
  RunReader,
  RunRegeneration,
  RunRevocation,
  RunSpending,
  RunSteering,
  RunTurns,
];

/** All statements on the stored runs, for the endpoints, the streams and the worker. */
@Module({
  imports: [
    TypeOrmModule.forFeature([RunEntity, RunApprovalEntity, RunSteerEntity, ModelRecordingEntity]),
    PreparedStatementsModule,
    LongReadsModule,
    NamesModule,
    VaultModule,
  ],
  providers: RECORDS,
  exports: RECORDS,
})
export class RunRecordsModule {}
