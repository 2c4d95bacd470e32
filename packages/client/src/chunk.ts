interface ToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly dynamic?: boolean;
  readonly title?: string;
}

interface ToolResult {
  readonly toolCallId: string;
  readonly dynamic?: boolean;
}

/** Model and usage of an answer, when they are known. */
export interface AnswerMetadata {
  readonly taskId?: string;
  readonly model?: string;
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number; readonly totalTokens: number };
  readonly finishReason?: string;
  readonly [key: string]: unknown;
}

/**
 * A chunk of a streamed answer: a UI-message chunk of the AI SDK. Later versions can send further types, so ignore those that
 * you do not know.
 */
export type Chunk =
  | { readonly type: 'start'; readonly messageId?: string; readonly messageMetadata?: AnswerMetadata }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | ({ readonly type: 'tool-input-start' } & ToolCall)
  | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
  | ({ readonly type: 'tool-input-available'; readonly input: unknown } & ToolCall)
  | ({ readonly type: 'tool-input-error'; readonly input: unknown; readonly errorText: string } & ToolCall)
  | ({ readonly type: 'tool-output-available'; readonly output: unknown } & ToolResult)
  | ({ readonly type: 'tool-output-error'; readonly errorText: string } & ToolResult)
  | { readonly type: 'tool-approval-request'; readonly approvalId: string; readonly toolCallId: string }
  | {
      readonly type: 'tool-approval-response';
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | { readonly type: 'message-metadata'; readonly messageMetadata: AnswerMetadata }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'finish'; readonly finishReason?: string; readonly messageMetadata?: AnswerMetadata };
