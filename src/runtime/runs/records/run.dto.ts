import { IsArray, IsIn, IsInt, IsISO8601, IsNumber, IsObject, IsString, IsUUID } from 'class-validator';
import { IdInput } from '../../../core/validation/item-input.js';
import { CallerItem } from '../../../audit/caller.dto.js';
import { Nested, NestedList } from '../../../core/validation/nested.js';
import { MayBeNull } from '../../../core/validation/presence.js';
import { PendingApprovalItem } from './approval.dto.js';
import type { ModelCall } from './model-call.js';
import { RUN_STATUSES, type RunStatus } from '../../../core/run-status.js';
import { ItemOf, PageOf } from '../../../core/paging/page-of.js';

export class RunGetInput extends IdInput {}

export class RunErrorItem {
  @IsString()
  code: string;

  @IsString()
  message: string;
}

export class RunUsageItem {
  @IsInt()
  inputTokens: number;

  @IsInt()
  outputTokens: number;

  @IsInt()
  totalTokens: number;
}

/** A run as returned to callers, with the person for whom it acts; null for a key of the organization. */
export class RunItem extends CallerItem {
  @IsUUID()
  id: string;

  @IsString()
  thread_id: string;

  @IsUUID()
  agent_id: string;

  @IsIn(RUN_STATUSES)
  status: RunStatus;

  /**
   * The beginning of the message that the run answers, up to 500 characters. Null for a caller without
   * COLLECTION_THREAD_MESSAGES_LIST, and for a message without text. In a list of n runs, also for a message that is
   * larger than 8 MiB / n.
   */
  @MayBeNull()
  @IsString()
  question: string | null;

  @IsString()
  tier: string;

  @MayBeNull()
  @IsNumber()
  temperature: number | null;

  @MayBeNull()
  @IsString()
  model: string | null;

  /** The id of the answer in the transcript. */
  @IsString()
  message_id: string;

  @MayBeNull()
  @Nested(() => RunErrorItem)
  error: RunErrorItem | null;

  @MayBeNull()
  @Nested(() => RunUsageItem)
  usage: RunUsageItem | null;

  /** The names of the tools that the run has called, at most 100; empty until it is over. */
  @IsArray()
  @IsString({ each: true })
  tools: string[];

  /** How long the run has worked, without the time that it waited for approvals; null until it is over. */
  @MayBeNull()
  @IsInt()
  duration_ms: number | null;

  /**
   * What the model calls cost in US dollars, each at the price of its time (`MODEL_TIERS_SET`); a later price does not
   * change it. Null if no call had a price.
   */
  @MayBeNull()
  @IsNumber()
  cost_usd: number | null;

  @MayBeNull()
  @IsString()
  finish_reason: string | null;

  /** How many times a worker has started the run. */
  @IsInt()
  attempt: number;

  @IsInt()
  steps: number;

  @IsString()
  request_id: string;

  /** The W3C trace of the run, in 32 hexadecimal digits; null if it has none, or its trace is not sampled. */
  @MayBeNull()
  @IsString()
  trace_id: string | null;

  /** Where to see the trace, if the operator has set `TRACE_URL`. */
  @MayBeNull()
  @IsString()
  trace_url: string | null;

  /** The schedule that posted the run; null for other runs. */
  @MayBeNull()
  @IsUUID()
  schedule_id: string | null;

  /** The metadata of the thread when the run was posted. */
  @IsObject()
  metadata: Record<string, string>;

  /** The tool calls that wait for somebody's approval. */
  @NestedList(() => PendingApprovalItem)
  pending_approvals: PendingApprovalItem[];

  @MayBeNull()
  @IsISO8601()
  started_at: string | null;

  @MayBeNull()
  @IsISO8601()
  finished_at: string | null;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

/** One model call of a run. */
class ModelCallItem implements ModelCall {
  /** The step that the call was for, from 1. */
  @IsInt()
  step: number;

  @IsInt()
  attempt: number;

  @IsISO8601()
  started_at: string;

  /** Until the end of the model's answer, with the waits before repetitions. */
  @IsNumber()
  duration_ms: number;

  /** How often the provider was called again because it refused. */
  @IsInt()
  retries: number;

  /** Null if the provider reported none, as for calls that fail. */
  @MayBeNull()
  @IsNumber()
  input_tokens: number | null;

  /** The part of the input that the provider read from its cache. */
  @MayBeNull()
  @IsNumber()
  cached_input_tokens: number | null;

  @MayBeNull()
  @IsNumber()
  output_tokens: number | null;

  @MayBeNull()
  @IsNumber()
  cost_usd: number | null;

  /** Why the call failed; `interrupted` if its run was stopped. */
  @MayBeNull()
  @IsString()
  error_code: string | null;

  /**
   * How long the answer took to begin, with the waits before repetitions. Null if it did not begin, and for calls of
   * earlier versions.
   */
  @MayBeNull()
  @IsNumber()
  first_chunk_ms: number | null;

  /** The part of the output that is hidden reasoning; null if the provider reported none. */
  @MayBeNull()
  @IsNumber()
  reasoning_tokens: number | null;

  /** Null for the built-in model, and for calls of earlier versions. */
  @MayBeNull()
  @IsUUID()
  provider_id: string | null;

  /** The provider's name for the model; null for calls of earlier versions. */
  @MayBeNull()
  @IsString()
  model: string | null;
}

/** A run with its model calls. */
export class RunDetails extends RunItem {
  /** The object that the run has answered, if it is completed and its agent has an `output_schema`; otherwise null. */
  @MayBeNull()
  @IsObject()
  output: Record<string, unknown> | null;

  /** The calls that have ended, oldest first; at most the first 200. Empty for runs of earlier versions. */
  @NestedList(() => ModelCallItem)
  model_calls: ModelCallItem[];
}

export class RunOutput extends ItemOf(RunDetails) {}

export class RunPage extends PageOf(RunItem) {}
