import { Injectable } from '@nestjs/common';
import { throughOutage } from '../../core/retry.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { RunApprovals } from '../runs/records/run-approvals.js';
import { type AgentSession, AgentSessionService } from './agent-session.service.js';
import { AttemptApprovals } from './attempt-approvals.js';
import type { RunAnswer } from './run-answer.js';
import { RunAnswerFactory } from './run-answer.factory.js';
import type { RunAttemptControl } from './run-attempt-control.js';
import { type RunModels, RunModelsFactory } from './run-models.js';

/** A run that has lost this many workers is not executed again. */
const MAX_ATTEMPTS = 5;

/** What an attempt at a run works with. */
export interface AttemptParts {
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
export function hasLostTooManyWorkers({ attempt, yields }: ClaimedRun): boolean {
  return attempt - yields > MAX_ATTEMPTS;
}

/** False for a run that only has to be ended. */
function canBegin(run: ClaimedRun): boolean {
  return !hasLostTooManyWorkers(run) && run.cancelRequestedAt === null && !run.hasLostCredential;
}
