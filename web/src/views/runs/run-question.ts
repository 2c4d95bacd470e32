import type { ChatMessage } from '../../transcript/message.js';

/** What a run answers, and where it stands in its thread. */
export interface RunQuestion {
  readonly question: ChatMessage;
  /** The system messages of the same request, in their order. */
  readonly system: readonly ChatMessage[];
  /** The message before the request; undefined for the first of the thread. */
  readonly previousId: string | undefined;
}

/**
 * Finds what a run answers. A run that answers a question again has none of its own: it answers the last one before it
 * that still has its place.
 * @param messages of the thread, newest first, with those that were superseded
 */
export async function questionOf(
  messages: AsyncIterable<ChatMessage>,
  run: { readonly id: string; readonly message_id: string },
): Promise<RunQuestion | undefined> {
  let isBefore = false;
  let question: ChatMessage | undefined;
  const system: ChatMessage[] = [];
  for await (const message of messages) {
    const { taskId, steerId, superseded_by: supersededBy } = message.metadata ?? {};
    isBefore ||= message.id === run.message_id || taskId === run.id;
    const mayBeIt =
      message.role === 'user' && steerId === undefined && (taskId === run.id || supersededBy === undefined);
    if (question === undefined) {
      if (isBefore && mayBeIt) question = message;
      else if (isBefore && message.role === 'system' && taskId === run.id) system.unshift(message);
    } else if (message.role === 'system' && taskId === question.metadata?.taskId) {
      system.unshift(message);
    } else if (supersededBy === undefined) {
      return { question, system, previousId: message.id };
    }
  }
  return question && { question, system, previousId: undefined };
}
