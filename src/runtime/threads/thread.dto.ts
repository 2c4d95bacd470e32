import {
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  IsUUID,
  Length,
  Matches,
  Max,
  Min,
} from 'class-validator';
import { CALLER_ID } from '../../core/ids.js';
import { MAX_LIMIT, MAX_OFFSET } from '../../core/paging/list-input.js';
import { RUN_STATUSES, type RunStatus } from '../../core/run-status.js';
import { IsMetadata } from '../../core/validation/is-metadata.js';
import { Nested } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { THREAD_STATUSES, type ThreadStatus } from './thread.entity.js';
import { ItemOf, PageOf } from '../../core/paging/page-of.js';

const THREAD_ID_RULE = { message: 'must be 1 to 128 of A-Z, a-z, 0-9, _ and -, and must not contain a credential' };

export class ThreadCreateData {
  @IsString()
  @Length(1, 256)
  title: string;

  /** The agent that the thread belongs to. */
  @IsUUID()
  virtual_mcp_id: string;

  /** Your own id for the thread. Sending an existing id returns the existing thread. */
  @MayBeAbsent()
  @Matches(CALLER_ID, THREAD_ID_RULE)
  id?: string;

  @MayBeAbsent()
  @IsMetadata()
  metadata?: Record<string, string>;
}

export class ThreadCreateInput {
  @Nested(() => ThreadCreateData)
  @IsObject()
  data: ThreadCreateData;
}

export class ThreadUpdateData {
  @MayBeAbsent()
  @IsString()
  @Length(1, 256)
  title?: string;

  /** Replaces all pairs. */
  @MayBeAbsent()
  @IsMetadata()
  metadata?: Record<string, string>;
}

export class ThreadUpdateInput {
  @Matches(CALLER_ID, THREAD_ID_RULE)
  id: string;

  @Nested(() => ThreadUpdateData)
  @IsObject()
  data: ThreadUpdateData;
}

export class ThreadIdInput {
  @Matches(CALLER_ID, THREAD_ID_RULE)
  id: string;
}

class RunFailureItem {
  @IsString()
  code: string;

  @IsString()
  message: string;
}

/** The run of a thread that was accepted last. */
class LastRunItem {
  @IsUUID()
  id: string;

  @IsIn(RUN_STATUSES)
  status: RunStatus;

  /** Null until a model has answered. */
  @MayBeNull()
  @IsString()
  model: string | null;

  @MayBeNull()
  @Nested(() => RunFailureItem)
  error: RunFailureItem | null;
}

export class ThreadCopyInput {
  @Matches(CALLER_ID, THREAD_ID_RULE)
  id: string;

  /** The last message to copy; all messages if it is absent. */
  @MayBeAbsent()
  @Matches(CALLER_ID, { message: 'must be the id of a message' })
  until_message_id?: string;

  /** Your own id for the new thread. */
  @MayBeAbsent()
  @Matches(CALLER_ID, THREAD_ID_RULE)
  new_id?: string;

  /** The title of the thread if it is absent. */
  @MayBeAbsent()
  @IsString()
  @Length(1, 256)
  title?: string;
}

export class ThreadItem {
  @IsString()
  id: string;

  @IsString()
  title: string;

  @IsUUID()
  virtual_mcp_id: string;

  @IsIn(THREAD_STATUSES)
  status: ThreadStatus;

  @IsMetadata()
  metadata: Record<string, string>;

  @MayBeNull()
  @Nested(() => LastRunItem)
  last_run: LastRunItem | null;

  /**
   * The beginning of the thread's first message of a person, up to 500 characters. Null for a caller without
   * COLLECTION_THREAD_MESSAGES_LIST, and for a message without text. In a list of n threads, a message that is larger
   * than 8 MiB / n does not count.
   */
  @MayBeNull()
  @IsString()
  question: string | null;

  /** The names of the tools that its runs have called, at most 100. Runs count in all sums once they are over. */
  @IsArray()
  @IsString({ each: true })
  tools: string[];

  @IsInt()
  total_tokens: number;

  /** In US dollars; null if no model call had a price, and for a caller without RUN_LIST and USAGE_STATS. */
  @MayBeNull()
  @IsNumber()
  cost_usd: number | null;

  /** How long its runs have worked, without the time that they waited for approvals. */
  @IsInt()
  duration_ms: number;

  /** The person who created the thread; null for a key of the organization. */
  @MayBeNull()
  @IsUUID()
  created_by: string | null;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

export class ThreadOutput extends ItemOf(ThreadItem) {}

export class ThreadPage extends PageOf(ThreadItem) {}

export class ThreadMessagesInput {
  @Matches(CALLER_ID, THREAD_ID_RULE)
  thread_id: string;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  limit?: number | null;

  @IsOptional()
  @IsString()
  cursor?: string | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_OFFSET)
  offset?: number | null;

  @MayBeAbsent()
  @IsIn(['asc', 'desc'])
  order?: 'asc' | 'desc';

  /**
   * Also list messages whose place a later answer has taken; `superseded_by` in their metadata is the taskId of that
   * answer.
   */
  @MayBeAbsent()
  @IsBoolean()
  include_superseded?: boolean;
}

export class MessageItem {
  @IsString()
  id: string;

  @IsString()
  thread_id: string;

  @IsIn(['system', 'user', 'assistant'])
  role: 'system' | 'user' | 'assistant';

  /** AI SDK UIMessage parts. */
  @IsArray()
  @IsObject({ each: true })
  parts: object[];

  /**
   * For an answer: taskId, model, usage, finishReason, and aborted when the run was cancelled. With superseded_by if
   * superseded.
   */
  @IsObject()
  metadata: Record<string, unknown>;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

export class MessagePage extends PageOf(MessageItem) {}
