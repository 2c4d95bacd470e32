import { Injectable, Logger } from '@nestjs/common';
import { StorageLostError, throughOutage } from '../common/through-outage.js';
import { AppConfig } from '../config/app-config.js';
import { StaleWriterError } from '../events/run-event-errors.js';
import { ModelsService, type ResolvedModel } from '../models/models.service.js';
import { StaleAttemptError } from '../threads/run-attempt.js';
import { RunExecutionService } from '../threads/run-execution.service.js';
import type { ClaimedRun } from '../threads/new-run.js';
import type { NextRun } from '../threads/run-finish.js';
import type { RunEntity } from '../threads/run.entity.js';
import { AgentSessionService } from './agent-session.service.js';
import { runAgentLoop } from './agent-loop.js';
import { concludeAnswer, type Conclusion } from './conclude-answer.js';
import type { RunAnswer } from './run-answer.js';
import { RunAnswerFactory } from './run-answer.factory.js';
import type { RunAttemptControl } from './run-attempt-control.js';
import { describeRunFailure, RUN_TIMEOUT, WORKER_LOST } from './run-failure.js';
import { RunSupervisor } from './run-supervisor.js';

/** A run that has taken so many workers with it is not given to another one. */
const MAX_ATTEMPTS = 5;

/** Executes one attempt at a run, from its claim to its end. */
@Injectable()
export class RunExecutorService {
  private readonly logger = new Logger(RunExecutorService.name);

  constructor(
    private readonly config: AppConfig,
    private readonly execution: RunExecutionService,
    private readonly answers: RunAnswerFactory,
    private readonly models: ModelsService,
    private readonly sessions: AgentSessionService,
    private readonly supervisor: RunSupervisor,
  ) {}

  /** Works on a claimed run. Returns the attempt that should be asked for next: the thread's next run, or this one again. */
  async execute(run: ClaimedRun): Promise<NextRun | undefined> {
    const control = this.supervisor.open({ runId: run.id, attempt: run.attempt });
    const remaining = this.config.settings.runTimeoutMs - (Date.now() - (run.startedAt?.getTime() ?? Date.now()));
    const timer = setTimeout(() => control.stop('timeout'), Math.max(0, remaining));
    try {
      return await this.attempt(run, control);
    } catch (error) {
      if (!isStale(error) && control.stopped !== 'stale') throw error;
      this.logger.warn({ run_id: run.id, attempt: run.attempt }, 'Another attempt has taken this run over');
      return undefined;
    } finally {
      clearTimeout(timer);
      this.supervisor.close(control);
    }
  }

  private async attempt(run: ClaimedRun, control: RunAttemptControl): Promise<NextRun | undefined> {
    const { id: runId, attempt } = run;
    const [answer, { model, name }] = await Promise.all([
      this.answers.open(run, () => control.stop('stale')),
      this.resolveModel(run),
    ]);
    answer.model = name;
    try {
      const conclusion = await this.conclusionOf(run, answer, control, model);
      if (control.stopped === 'stale') throw new StaleAttemptError(control.claim);
      if (conclusion === 'handover') {
        await answer.save();
        await this.execution.release(control.claim);
        return { runId, attempt: attempt + 1 };
      }
      const next = await concludeAnswer(answer, conclusion);
      await answer.end();
      return next;
    } finally {
      answer.close();
    }
  }

  /** A provider whose key cannot be read fails the run, like a provider that refuses. */
  private async resolveModel(run: RunEntity): Promise<{ model: ResolvedModel['model'] | Error; name: string }> {
    try {
      return await throughOutage(() => this.models.resolve(run.organizationId, run.tier));
    } catch (error) {
      return { model: error as Error, name: '' };
    }
  }

  private async conclusionOf(
    run: RunEntity,
    answer: RunAnswer,
    control: RunAttemptControl,
    model: ResolvedModel['model'] | Error,
  ): Promise<Conclusion | 'handover'> {
    try {
      if (model instanceof Error) throw model;
      if (run.attempt > MAX_ATTEMPTS) return { status: 'failed', error: WORKER_LOST, finishReason: null };
      if (run.cancelRequestedAt !== null) control.stop('cancelled');
      control.signal.throwIfAborted();
      const session = await throughOutage(() => this.sessions.open(run, control.signal));
      const finishReason = await runAgentLoop({ ...session, model }, answer, control);
      return { status: 'completed', error: null, finishReason };
    } catch (error) {
      // A storage that stays away is no fault of the run: another attempt goes on when it is back.
      if (isStale(error) || error instanceof StorageLostError) throw error;
      if (control.stopped === 'handover') return 'handover';
      if (control.stopped === 'cancelled') return { status: 'cancelled', error: null, finishReason: null };
      const failure = control.stopped === 'timeout' ? RUN_TIMEOUT : describeRunFailure(error);
      if (failure.code === 'internal') this.logger.error({ run_id: run.id, err: error }, 'A run failed unexpectedly');
      return { status: 'failed', error: failure, finishReason: 'error' };
    }
  }
}

function isStale(error: unknown): boolean {
  return error instanceof StaleAttemptError || error instanceof StaleWriterError;
}
