import type { RunUsage } from '../runs/records/run.entity.js';

/** A text of an answer. */
interface OutputText {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations: readonly never[];
  readonly logprobs: readonly never[];
}

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** One text that a model has written. */
export interface MessageOutput {
  readonly type: 'message';
  readonly id: string;
  readonly role: 'assistant';
  readonly status: ItemStatus;
  readonly content: readonly OutputText[];
}

/** What a model has thought. */
export interface ReasoningOutput {
  readonly type: 'reasoning';
  readonly id: string;
  readonly status: ItemStatus;
  readonly summary: readonly { readonly type: 'summary_text'; readonly text: string }[];
}

/** A tool call that was made. */
export interface CallOutput {
  readonly type: 'mcp_call';
  readonly id: string;
  readonly name: string;
  readonly server_label: string;
  /** As JSON text. */
  readonly arguments: string;
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly output: string | null;
  readonly error: { readonly type: 'mcp_tool_execution_error'; readonly content: readonly object[] } | null;
  readonly approval_request_id: string | null;
}

/** A tool call that waits for somebody's approval, or has waited for it. */
export interface ApprovalOutput {
  readonly type: 'mcp_approval_request';
  readonly id: string;
  readonly name: string;
  readonly server_label: string;
  readonly arguments: string;
}

/** An item of the output of a response. */
export type OutputItem = MessageOutput | ReasoningOutput | CallOutput | ApprovalOutput;

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** A response of OpenAI's Responses API: an answer of a run. */
export interface ResponseObject {
  readonly id: string;
  readonly object: 'response';
  readonly created_at: number;
  readonly completed_at: number | null;
  readonly status: ResponseStatus;
  readonly background: boolean;
  readonly error: { readonly type: 'server_error'; readonly code: string; readonly message: string } | null;
  readonly incomplete_details: { readonly reason: string } | null;
  readonly instructions: string | null;
  /** The agent. */
  readonly model: string;
  readonly conversation: { readonly id: string };
  readonly previous_response_id: string | null;
  readonly output: readonly OutputItem[];
  readonly usage: ResponseUsage | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly temperature: number;
  readonly text: { readonly format: object };
  readonly store: boolean;
}

interface ResponseUsage {
  readonly input_tokens: number;
  readonly input_tokens_details: { readonly cached_tokens: number };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
  readonly total_tokens: number;
}

/** What the specification wants in each response, and the agent decides. */
export const DECIDED_BY_AGENT = {
  tools: [],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  truncation: 'disabled',
  reasoning: null,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  max_output_tokens: null,
  max_tool_calls: null,
  service_tier: 'default',
  safety_identifier: null,
  prompt_cache_key: null,
} as const;

export function outputText(text: string): OutputText {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** Which of the tokens came from a cache, or were spent on reasoning, is not recorded. */
export function usageOf(usage: RunUsage | null): ResponseUsage | null {
  if (usage === null) return null;
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.totalTokens,
  };
}
