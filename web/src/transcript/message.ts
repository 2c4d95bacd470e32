import type { FileUIPart, UIMessage } from 'ai';
import type { ListItem } from '../../../packages/client/src/api.js';

/** What the service stores with an answer. */
interface MessageMetadata {
  /** The run that wrote the answer. */
  readonly taskId?: string;
  readonly model?: string | null;
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number; readonly totalTokens: number };
  readonly finishReason?: string;
  /** The run was cancelled before the answer was complete. */
  readonly aborted?: boolean;
  /** The object that the answer is, if its agent has an output schema. */
  readonly output?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: string; readonly message: string };
  /** The run whose answer has taken the place of this message. */
  readonly superseded_by?: string;
  /** When a message of a transcript was last changed. */
  readonly storedAt?: string;
  /** The message was added to a run under way; a `data-steer` part with this id shows where the answer heard it. */
  readonly steerId?: string;
}

/** A message of a thread: a UI message of the AI SDK, as streams carry it and transcripts store it. */
export type ChatMessage = UIMessage<MessageMetadata, { retry: Retry; steer: Steer }>;
export type MessagePart = ChatMessage['parts'][number];
export type ToolPart = Extract<MessagePart, { type: 'dynamic-tool' }>;

/** The data of a `data-retry` chunk: the provider of the model refused, and is called again. */
export interface Retry {
  readonly attempt: number;
  readonly max_attempts: number;
  readonly delay_ms: number;
  readonly code: string;
  readonly message: string;
}

/** The data of a `data-steer` part: a message that the answer heard at this place. */
interface Steer {
  readonly messageId: string;
  readonly text: string;
  readonly interrupted: boolean;
}

/** The messages without those that an answer among them shows where it heard them. */
export function withoutHeard(messages: readonly ChatMessage[]): ChatMessage[] {
  const heard = new Set(
    messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'data-steer' ? [part.id] : []))),
  );
  return messages.filter(({ metadata }) => metadata?.steerId === undefined || !heard.has(metadata.steerId));
}

export function toChatMessage({
  id,
  role,
  parts,
  metadata,
  updated_at: storedAt,
}: Pick<ListItem<'COLLECTION_THREAD_MESSAGES_LIST'>, 'id' | 'role' | 'parts' | 'metadata'> & {
  readonly updated_at?: string;
}): ChatMessage {
  return {
    id,
    role,
    parts: parts as unknown as ChatMessage['parts'],
    metadata: { ...metadata, ...(storedAt !== undefined && { storedAt }) },
  };
}

/** Whether the run of an answer has ended. */
export function isOver({ metadata }: Pick<ChatMessage, 'metadata'>): boolean {
  return metadata?.finishReason !== undefined || metadata?.aborted === true;
}

/** Whether an answer was copied from another thread, whose run it names: it is older than its thread. */
export function isCopied(
  { metadata }: Pick<ChatMessage, 'metadata'>,
  thread: { readonly created_at: string },
): boolean {
  return metadata?.storedAt !== undefined && Date.parse(metadata.storedAt) < Date.parse(thread.created_at);
}

/** The text parts of a message, without reasoning and tool calls. */
export function textOf({ parts }: Pick<ChatMessage, 'parts'>): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');
}

/** The file parts of a message. */
export function filesOf({ parts }: Pick<ChatMessage, 'parts'>): FileUIPart[] {
  return parts.filter((part) => part.type === 'file');
}
