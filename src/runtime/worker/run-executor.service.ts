import { Injectable, Logger } from '@nestjs/common';
import { UIMessageStreamError } from 'ai';
import { LogContext } from '../../core/log-context.js';
import { StorageLostError, throughOutage } from '../../core/retry.js';
import { StaleWriterError } from '../events/run-event-store.js';
import { type RunObservation, RunTelemetry } from '../../platform/telemetry/run-telemetry.js';
import { type RunOutcome, StaleAttemptError } from '../runs/records/run-attempt.js';
import { RunExecution } from '../runs/records/run-execution.js';
import { RecentHistories } from '../threads/recent-histories.js';
import { type ClaimedRun, claimOf } from '../runs/records/new-run.js';
import type { RunError } from '../runs/records/run.entity.js';
import { runAgentLoop } from './agent-loop.js';
import { concludeAnswer, type Conclusion } from './conclude-answer.js';
import type { RunAnswer } from './run-answer.js';
import { RunAnswerFactory } from './run-answer.factory.js';
import type { RunAttemptControl, StopReason } from './run-attempt-control.js';
import {
  ANSWER_UNUSABLE,
  CREDENTIAL_REVOKED,
  describeRunFailure,
  POSTER_GONE,
  RUN_TIMEOUT,
  WORKER_LOST,
} from './run-failure.js';
import { CallRecordings } from './recording/call-recorder.js';
import { RecordingWriter } from './recording/recording-writer.js';
import { requireOutput } from './answer-shape.js';
import { RunSupervisor } from './run-supervisor.js';
import { RunApprovals } from '../runs/records/run-approvals.js';
import { type AgentSession, AgentSessionService } from './agent-session.service.js';
import { AttemptApprovals } from './settle-tool-calls.js';
import { type RunModels, RunModelsFactory } from './run-models.js';

/** A run that has lost this many workers is not executed again. */
const MAX_ATTEMPTS = 5;

/** What an attempt at a run works with. */
interface AttemptParts {
  /** Has to be closed. */
  readonly answer: RunAnswer;
  readonly models: RunModels;
  readonly approvals: AttemptApprovals;
  /** Undefined if the run only has to be ended. */
  readonly opening: Promise<AgentSession> | undefined;
}

/** Opens what an attempt at a run works with, at once. */
@Injectable()
export class AttemptPartsFactory {
  constructor(
    private readonly answers: RunAnswerFactory,
    private readonly sessions: AgentSessionService,
    private readonly models: RunModelsFactory,
    private readonly approvals: RunApprovals,
  ) {}

  /** Does not wait for the agent's session: a reader waits for the first chunk of the answer. */
  async openParts(run: ClaimedRun, control: RunAttemptControl): Promise<AttemptParts> {
    // The first chunk is sent before the attempt reads anything.
    const opened = this.answers.openAnswer(run, () => control.stop('stale'));
    const opening = canBegin(run) ? throughOutage(() => this.sessions.openAgentSession(run, control)) : undefined;
    // The attempt waits for it, unless the answer or the models cannot be opened.
    opening?.catch(() => undefined);
    const [answer, models, approvals] = await Promise.all([
      opened,
      this.models.resolveModels(run),
      AttemptApprovals.open(run, this.approvals),
    ]);
    answer.model = models.current.name;
    return { answer, models, approvals, opening };
  }
}

/** True if a run is not executed again. An attempt that a worker gives up in good order does not count. */
function hasLostTooManyWorkers({ attempt, yields }: ClaimedRun): boolean {
  return attempt - yields > MAX_ATTEMPTS;
}

/** False for a run that only has to be ended. */
function canBegin(run: ClaimedRun): boolean {
  return !hasLostTooManyWorkers(run) && run.cancelRequestedAt === null && !run.hasLostCredential;
}

/** The failures of runs that were stopped. */
const STOP_FAILURES: ReadonlyMap<StopReason | undefined, RunError> = new Map([
  ['timeout', RUN_TIMEOUT],
  ['revoked', CREDENTIAL_REVOKED],
]);

/** Executes one attempt at a run, from its claim to its end. */
@Injectable()
export class RunExecutorService {
  private readonly logger = new Logger(RunExecutorService.name);

  constructor(
    private readonly execution: RunExecution,
    private readonly parts: AttemptPartsFactory,
    private readonly answers: RunAnswerFactory,
    private readonly supervisor: RunSupervisor,
    private readonly telemetry: RunTelemetry,
    private readonly recordings: RecordingWriter,
    private readonly histories: RecentHistories,
  ) {}

  /**
   * Executes a claimed run. Returns whether the thread's next run, or this one again, can start now.
   * @param shouldYield whether the run shall give its slot to another before its next step
   */
  async execute(run: ClaimedRun, shouldYield: () => Promise<boolean>): Promise<boolean> {
    const observation = this.telemetry.begin(run);
    const logContext = new LogContext({ run_id: run.id, request_id: run.requestId });
    const control = this.supervisor.superviseAttempt(run);
    try {
      return await logContext.run(() =>
        observation.within(() => this.attempt({ run, control, shouldYield, observation })),
      );
    } catch (error) {
      if (!isStale(error) && control.stopped !== 'stale') throw error;
      // A live buffer that has lost the stream also rejects its writer, although no other attempt has started.
      if (await this.execution.release(control.claim, { failed: true })) return true;
      this.logger.warn({ run_id: run.id, attempt: run.attempt }, 'Another attempt has taken over this run');
      return false;
    } finally {
      this.supervisor.close(control);
      observation.end();
      logContext.end();
    }
  }

  private async attempt(attempt: Attempt): Promise<boolean> {
    try {
      return await this.answerRun(attempt);
    } catch (error) {
      const { run, control, observation } = attempt;
      if (control.stopped === 'stale' || !isFinal(error)) throw error;
      this.logger.error({ run_id: run.id, err: error }, 'Cannot write an answer; its run fails');
      return this.failWithoutAnswer(run, observation);
    }
  }

  private async answerRun(attempt: Attempt): Promise<boolean> {
    const { run, control, observation } = attempt;
    const parts = await this.parts.openParts(run, control);
    const { answer, models, approvals } = parts;
    observation.setModel(models.current.name);
    try {
      const conclusion = await this.conclusionOf(attempt, parts);
      if (control.stopped === 'stale') throw new StaleAttemptError(control.claim);
      if (conclusion === 'waiting' || conclusion === 'handover' || conclusion === 'yield') {
        await answer.save();
        if (conclusion === 'waiting' && (await this.wait(run, answer))) return false;
        if (conclusion === 'yield' && (await this.execution.yield(control.claim))) return false;
        await this.execution.release(control.claim);
        return true;
      }
      const hasNext = await concludeAnswer(answer, approvals, conclusion);
      if (answer.final !== undefined) this.histories.add(run, answer.final, answer.length);
      this.report(run, conclusion, observation);
      // The run has ended, and the thread's next run can start. Readers get missing parts from the transcript.
      await answer.end().catch((error: Error) => {
        this.logger.warn({ run_id: run.id, err: error }, 'Cannot end the stream of a finished run');
      });
      return hasNext;
    } finally {
      answer.close();
    }
  }

  /** Lets the run wait without a worker; false if it can continue at once. */
  private async wait(run: ClaimedRun, answer: RunAnswer): Promise<boolean> {
    if (!(await throughOutage(() => this.execution.wait(claimOf(run))))) return false;
    // Only wakes requests that wait for the run; they look by themselves, too.
    await answer.pause().catch((error: Error) => {
      if (!isStale(error)) this.logger.warn({ run_id: run.id, err: error }, 'Cannot signal that a run waits');
    });
    return true;
  }

  /** Ends a run whose answer cannot be written. The transcript keeps the parts stored so far. */
  private async failWithoutAnswer(run: ClaimedRun, observation: RunObservation): Promise<boolean> {
    const outcome = { status: 'failed', error: ANSWER_UNUSABLE, finishReason: 'error' } as const;
    const hasNext = await throughOutage(() => this.execution.finish(claimOf(run), run.model, undefined, outcome));
    this.report(run, outcome, observation);
    await this.answers.endStream(run, ANSWER_UNUSABLE.message).catch((error: Error) => {
      this.logger.warn({ run_id: run.id, err: error }, 'Cannot end the stream of a failed run');
    });
    return hasNext;
  }

  /** Reports the end of a run, once it is stored. */
  private report(run: ClaimedRun, { status, error }: RunOutcome, observation: RunObservation): void {
    observation.conclude({ status, errorCode: error?.code });
    if (status !== 'failed') return;
    const { id: run_id, threadId: thread_id, requestId: request_id, attempt } = run;
    this.logger.warn({ run_id, thread_id, request_id, attempt, code: error?.code }, 'A run failed');
  }

  private async conclusionOf(
    { run, control, shouldYield, observation }: Attempt,
    { answer, models, approvals, opening }: AttemptParts,
  ): Promise<Conclusion | 'handover' | 'waiting' | 'yield'> {
    try {
      if (opening === undefined) {
        if (hasLostTooManyWorkers(run)) return { status: 'failed', error: WORKER_LOST, finishReason: null };
        control.stop(run.cancelRequestedAt === null ? 'revoked' : 'cancelled');
        throw control.signal.reason;
      }
      control.signal.throwIfAborted();
      const session = await opening;
      observation.setAgentName(session.agentName);
      const { modelRecording } = session;
      const recordings =
        modelRecording === 'off' ? undefined : new CallRecordings(run, modelRecording, this.recordings);
      const input = { ...session, models, approvals, shouldYield, observation, recordings };
      const finishReason = await runAgentLoop(input, answer, control);
      const output = session.shape && (await requireOutput(session.shape, answer.parts()));
      return { status: 'completed', error: null, finishReason, output };
    } catch (error) {
      // Unavailable storage does not fail the run: another attempt continues when the storage is back.
      if (isStale(error) || control.stopped === 'stale' || error instanceof StorageLostError) throw error;
      if (control.stopped === 'handover' || control.stopped === 'yield' || control.stopped === 'waiting') {
        return control.stopped;
      }
      if (control.stopped === 'cancelled') return { status: 'cancelled', error: null, finishReason: null };
      const isDeserted = control.stopped === 'revoked' && approvals.posterIsGone;
      const failure = isDeserted ? POSTER_GONE : (STOP_FAILURES.get(control.stopped) ?? describeRunFailure(error));
      if (failure.code === 'internal') this.logger.error({ run_id: run.id, err: error }, 'A run failed unexpectedly');
      return { status: 'failed', error: failure, finishReason: 'error' };
    }
  }
}

interface Attempt {
  run: ClaimedRun;
  control: RunAttemptControl;
  shouldYield: () => Promise<boolean>;
  observation: RunObservation;
}

/** PostgreSQL's classes for what is wrong with the data or the statement (Appendix A of its manual). */
const DATA_ERROR = /^(?:22|23|42|54|XX)/;

/**
 * True if every attempt would fail in the same way, because the answer cannot be read or written. Unavailable storage
 * recovers.
 */
function isFinal(error: unknown): boolean {
  if (error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError) return true;
  if (UIMessageStreamError.isInstance(error)) return true;
  return error instanceof Error && 'code' in error && DATA_ERROR.test(String(error.code));
}

function isStale(error: unknown): boolean {
  return error instanceof StaleAttemptError || error instanceof StaleWriterError;
}
