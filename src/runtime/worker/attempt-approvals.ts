import { StorageLostError, throughOutage } from '../../core/retry.js';
import { claimOf, type ClaimedRun } from '../runs/records/new-run.js';
import type { ApprovalEnd } from '../runs/records/run-approval.entity.js';
import type { ApprovalState, GatedCall, RunApprovals } from '../runs/records/run-approvals.js';
import type { GatedPart } from './pending-tool-calls.js';
import type { RunAnswer } from './run-answer.js';
import { isStorageLost } from './tool-failure.js';

/** A closed approval. */
export type Decision = ApprovalState & { readonly approved: boolean };

/** The approvals of a run during one attempt. */
export class AttemptApprovals {
  /** By tool call. */
  private states = new Map<string, ApprovalState>();

  private constructor(
    private readonly run: ClaimedRun,
    private readonly records: RunApprovals,
  ) {}

  /** With the approvals that earlier attempts have requested. */
  static async open(run: ClaimedRun, records: RunApprovals): Promise<AttemptApprovals> {
    const approvals = new AttemptApprovals(run, records);
    if (run.attempt > 1) approvals.states = byCall(await throughOutage(() => records.statesOf(run.id)));
    return approvals;
  }

  /** True while an approval of the run is open, as far as this attempt knows. */
  get areOpen(): boolean {
    return [...this.states.values()].some(({ closedAt }) => closedAt === null);
  }

  /** True if the run's credential was lost while the run waited. */
  get posterIsGone(): boolean {
    return [...this.states.values()].some(({ closedAs }) => closedAs === 'poster_gone');
  }

  /** The approval of a call; undefined if it needs none. */
  find(toolCallId: string): ApprovalState | undefined {
    return this.states.get(toolCallId);
  }

  /** The decision about a call; undefined while there is none. */
  decisionOn({ toolCallId }: Pick<GatedPart, 'toolCallId'>): Decision | undefined {
    const state = this.states.get(toolCallId);
    return state === undefined || state.approved === null ? undefined : { ...state, approved: state.approved };
  }

  /**
   * Stores the step with approvals for these of its calls.
   * @param timeoutS how long somebody can answer, in seconds
   * @throws StaleAttemptError, StaleWriterError
   */
  async request(answer: RunAnswer, calls: readonly GatedCall[], timeoutS: number): Promise<void> {
    await answer.saveWith((state) =>
      this.records.request(claimOf(this.run), { model: answer.model, answer: state }, calls, timeoutS),
    );
    this.states = byCall(await throughOutage(() => this.records.statesOf(this.run.id)));
  }

  /**
   * Must be called right before an approved call. False if the call must not be made, because an attempt has made it
   * before.
   * @throws StaleAttemptError, StorageLostError
   */
  async take({ id }: Decision): Promise<boolean> {
    try {
      return await this.records.takeCall(claimOf(this.run), id);
    } catch (error) {
      // Not repeated: a statement whose response was lost would find its own mark. Another attempt continues.
      throw isStorageLost(error) ? new StorageLostError('The call could not be recorded.', { cause: error }) : error;
    }
  }

  /** Denies what is still open, because the run ends. @throws StaleAttemptError */
  async close(end: Exclude<ApprovalEnd, 'answered'>): Promise<void> {
    if (this.states.size === 0) return;
    this.states = byCall(await throughOutage(() => this.records.closeOpen(claimOf(this.run), end)));
  }
}

function byCall(states: readonly ApprovalState[]): Map<string, ApprovalState> {
  return new Map(states.map((state) => [state.toolCallId, state]));
}
