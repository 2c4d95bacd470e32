import type { ListItem } from '../../../packages/client/src/api.js';
import type { RunDetails } from '../records/run-columns.js';
import type { ToolPart } from '../transcript/message.js';

/** A stretch of time in a run. Times are in milliseconds since 1970. */
export interface Span {
  readonly id: string;
  readonly kind: 'queue' | 'model' | 'tool' | 'approval';
  readonly label: string;
  readonly start: number;
  readonly end: number;
  /** It has not ended yet; `end` is now. */
  readonly isOpen: boolean;
  /** What came of a call, or whether it was approved. */
  readonly outcome?: 'success' | 'error' | 'denied';
  readonly note?: string;
  /** Of a model call: which attempt at the run made it. */
  readonly attempt?: number;
  /** The model that was called; null if that is not known. */
  readonly model?: string | null;
  /** The model that the run went on to because this call failed. */
  readonly fallback?: string | null;
  /** The place of a model call among those of the run, from 1. */
  readonly callNumber?: number;
  /** The record of a model call. */
  readonly modelCall?: ModelCall;
  /** The record of a tool call. */
  readonly toolCall?: CallRecord;
  /** The part of the answer with a tool call, or with the call that needed the approval. */
  readonly part?: ToolPart;
  /** Who answered whether the call may be made. */
  readonly answer?: ApprovalAnswer;
}

export type CallRecord = ListItem<'MONITORING_LOGS_LIST'>;

/** An answer to the question whether a call may be made. */
export interface ApprovalAnswer {
  readonly approvalId: string;
  readonly at: string;
  readonly by: string | null;
}

export type ModelCall = RunDetails['model_calls'][number];
