import { IsIn, IsObject, IsUUID, Matches } from 'class-validator';
import { Nested, NestedList } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { AnsweredApprovalItem, PendingApprovalItem } from '../runs/records/approval.dto.js';
import { RunErrorItem, RunUsageItem } from '../runs/records/run.dto.js';
import { RUN_STATUSES, type RunStatus } from '../../core/run-status.js';
import { MessageItem } from '../threads/thread.dto.js';

/** What a run has come to: over, or so far. */
export class RunResult {
  @IsUUID()
  taskId: string;

  @IsIn(RUN_STATUSES)
  status: RunStatus;

  /**
   * The answer as in `COLLECTION_THREAD_MESSAGES_LIST`, with its parts so far while the run is in progress; null before
   * the first.
   */
  @MayBeNull()
  @Nested(() => MessageItem)
  message: MessageItem | null;

  /** The object that the run has answered, if it is completed and its agent has an `output_schema`; otherwise null. */
  @MayBeNull()
  @IsObject()
  output: Record<string, unknown> | null;

  @MayBeNull()
  @Nested(() => RunUsageItem)
  usage: RunUsageItem | null;

  @MayBeNull()
  @Nested(() => RunErrorItem)
  error: RunErrorItem | null;

  /** The tool calls that wait for somebody's approval. */
  @NestedList(() => PendingApprovalItem)
  pending_approvals: PendingApprovalItem[];

  /** The answers so far to the tool calls of a run that is not over; the message has them once the run goes on. */
  @NestedList(() => AnsweredApprovalItem)
  answered_approvals: AnsweredApprovalItem[];
}

/** The query parameters of a run. */
export class RunResultQuery {
  /** How long to wait for the end of the run, in whole seconds. */
  @MayBeAbsent()
  @Matches(/^(?:[1-5]?\d|60)$/, { message: 'must be a whole number of seconds from 0 to 60' })
  wait?: string;
}
