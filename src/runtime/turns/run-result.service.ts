import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import { requireRunAccess } from '../../core/run-access.js';
import { requireThreadPermission } from '../../core/thread-access.js';
import type { RunEntity } from '../runs/records/run.entity.js';
import { RunReader, type RunState } from '../runs/records/run-reader.js';
import { TranscriptService } from '../threads/transcript.service.js';
import type { RunResult } from './run-result.dto.js';

/** Reads what runs have come to. */
@Injectable()
export class RunResultService {
  constructor(
    private readonly runs: RunReader,
    private readonly transcript: TranscriptService,
  ) {}

  /**
   * A run that the caller can read: authorized as for its stream. To a browser token, runs of other threads do not
   * exist.
   * @throws DomainError `run_not_found`, `permission_denied`
   */
  async findReadable(caller: Principal, taskId: string): Promise<RunEntity> {
    requireThreadPermission(caller, 'read');
    const run = await this.runs.findRun(caller.organization.id, taskId);
    if (run === null || (caller.thread !== undefined && caller.thread.id !== run.threadId)) throw unknownRun();
    requireRunAccess(caller, run.agentId);
    return run;
  }

  /** Those of these runs that the caller can read, of one agent. @throws DomainError `permission_denied` */
  async findReadableAmong(caller: Principal, agentId: string, ids: readonly string[]): Promise<RunEntity[]> {
    requireThreadPermission(caller, 'read');
    requireRunAccess(caller, agentId);
    const runs = await this.runs.findAmong(caller.organization.id, ids);
    const { thread } = caller;
    return runs.filter((run) => run.agentId === agentId && (thread === undefined || thread.id === run.threadId));
  }

  /** The approvals that a run waits for. @throws DomainError `answer_memory_exhausted` */
  async pendingOf(run: RunState, answer: HeldAnswer): Promise<RunResult['pending_approvals']> {
    return (await this.runs.pendingOf([run], answer)).get(run.id) ?? [];
  }

  /** True if the caller's key has posted on the thread. */
  hasPosted({ organization, apiKeyId }: Principal, threadId: string): Promise<boolean> {
    return apiKeyId === null ? Promise.resolve(false) : this.runs.hasRunOf(organization.id, threadId, apiKeyId);
  }

  async isStored(organizationId: string, taskId: string): Promise<boolean> {
    return (await this.runs.findRun(organizationId, taskId)) !== null;
  }

  /**
   * @param answer holds the memory of the message
   * @throws DomainError `run_not_found`, `answer_memory_exhausted`
   */
  async read(organizationId: string, taskId: string, answer: HeldAnswer): Promise<RunResult> {
    const run = await this.runs.findOutcome(organizationId, taskId);
    if (run === undefined) throw unknownRun();
    const message = await this.transcript.findAnswerItem(run, answer);
    const { status, usage, error } = run;
    return {
      taskId: run.id,
      status,
      message,
      output:
        status === 'completed' ? ((message?.metadata['output'] as RunResult['output'] | undefined) ?? null) : null,
      usage,
      error,
      pending_approvals: await this.pendingOf(run, answer),
      answered_approvals: await this.runs.answeredOf(run),
    };
  }
}

function unknownRun(): DomainError {
  return new DomainError('run_not_found', 'There is no run with this taskId in the organization.');
}
