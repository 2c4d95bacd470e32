import type { UIMessage } from 'ai';
import { isRecord } from '../../core/is-record.js';
import { isSteerPart } from '../threads/steer-part.js';

/** The message came up while a run was under way. */
function steerIdOf({ metadata }: UIMessage): string | undefined {
  const id = isRecord(metadata) ? metadata['steerId'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

/**
 * The conversation with each message that steered a run where the answer heard it: the answer is split there. A message
 * that no answer has heard keeps its place.
 */
export function withSteersInPlace<M extends UIMessage>(messages: readonly M[]): M[] {
  const heard = new Set(messages.flatMap(({ parts }) => parts.filter(isSteerPart).map(({ id }) => id)));
  if (heard.size === 0) return [...messages];
  const isHeard = (message: M): boolean => heard.has(steerIdOf(message) ?? '');
  const steers = messages.filter(isHeard);
  return messages.filter((message) => !isHeard(message)).flatMap((message) => splitAnswer(message, steers));
}

function splitAnswer<M extends UIMessage>(answer: M, steers: readonly M[]): M[] {
  const pieces: M[] = [];
  let begin = 0;
  for (const [index, part] of answer.parts.entries()) {
    if (!isSteerPart(part)) continue;
    pieces.push({ ...answer, parts: answer.parts.slice(begin, index) });
    pieces.push(...steers.filter((message) => steerIdOf(message) === part.id));
    begin = index + 1;
  }
  pieces.push({ ...answer, parts: answer.parts.slice(begin) });
  return pieces.filter(({ parts }) => parts.length > 0);
}
