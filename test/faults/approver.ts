import { setTimeout as sleep } from 'node:timers/promises';
import type { RunItem } from '../../src/runtime/runs/records/run.dto.js';
import type { RunPlan } from './backstage.js';
import { type Answer, type Caller, FaultError } from './caller.js';

const PATIENCE_MS = 240_000;
const POLL_MS = 150;

/** What became of an approval, as the callers that answered it saw it. */
export interface Approval {
  readonly taskId: string;
  readonly approvalId: string;
  /** One for each answer that was given. */
  readonly answers: readonly { readonly approved: boolean; readonly response: Answer }[];
}

/** Answers the approvals of one thread, each answer at any of the processes. */
export class Approver {
  private readonly caller: Caller;
  private readonly threadId: string;

  constructor(caller: Caller, threadId: string) {
    this.caller = caller;
    this.threadId = threadId;
  }

  /** Waits until the run asks, and some time more, and answers. @throws FaultError if the run does not ask */
  async answer(taskId: string, { decision, afterMs }: NonNullable<RunPlan['payment']>): Promise<Approval> {
    const approvalId = await this.asked(taskId);
    await sleep(afterMs);
    const wanted = decision === 'both' ? [true, false] : [decision === 'approve'];
    const answers = wanted.map(async (approved) => ({ approved, response: await this.give(approvalId, approved) }));
    return { taskId, approvalId, answers: await Promise.all(answers) };
  }

  /** Gives one answer. It can be given again, also after the run. */
  give(approvalId: string, approved: boolean): Promise<Answer> {
    return this.caller.post(`agent-runtime/threads/${this.threadId}/approvals/${approvalId}`, { approved });
  }

  private async asked(taskId: string): Promise<string> {
    for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(POLL_MS)) {
      const { item } = await this.caller.tool<{ item: RunItem }>('RUN_GET', { id: taskId });
      const [approval, ...more] = item.pending_approvals;
      if (more.length > 0) throw new FaultError(`The run ${taskId} asks ${more.length + 1} times for one call.`);
      if (approval !== undefined) return approval.id;
      if (item.finished_at !== null) throw new FaultError(`The run ${taskId} is ${item.status} and has not asked.`);
    }
    throw new FaultError(`The run ${taskId} has not asked for an approval within ${PATIENCE_MS} ms.`);
  }
}
