import { plainText } from '../../core/plain-text.js';
import type { DataUIPart, UIMessage, UIMessageChunk } from 'ai';

/** The text that readers get with a part; the message itself is in the transcript. */
const MAX_TEXT_LENGTH = 4_000;

/** Shows in an answer where it heard a message. The same in the stream and in the stored message. */
type SteerPart = Extract<UIMessageChunk, { type: `data-${string}` }> & {
  type: 'data-steer';
  /** `steerId` in the metadata of the message. */
  id: string;
  data: SteerData;
};

interface SteerData {
  messageId: string;
  /** The beginning of its text. */
  text: string;
  /** The step before it was ended for it. */
  interrupted: boolean;
}

export function isSteerPart(
  part: UIMessage['parts'][number],
): part is DataUIPart<{ steer: SteerData }> & { id: string } {
  return part.type === 'data-steer' && 'id' in part && part.id !== undefined;
}

/** @param interrupted the step before it was ended for it */
export function toSteerPart(id: string, message: Pick<UIMessage, 'id' | 'parts'>, interrupted: boolean): SteerPart {
  const texts = message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const text = plainText(texts.join('\n').slice(0, MAX_TEXT_LENGTH));
  return { type: 'data-steer', id, data: { messageId: message.id, text, interrupted } };
}
