import { createHash } from 'node:crypto';
import type { FrameBatch, RunSignal, RunTopic } from './run-event-store.js';

/**
 * Stands between frames. A control character cannot occur inside JSON text (RFC 8259 §7), and this one is the record
 * separator of JSON text sequences (RFC 7464 §2.2).
 */
const SEPARATOR = '\u001E';

/** A topic as a short name that may stand in channel names: 32 hexadecimal digits. */
export function topicHash(topic: RunTopic): string {
  return createHash('sha256').update(`${topic.organizationId}/${topic.threadId}`).digest('hex').slice(0, 32);
}

/** The frames of a batch as one text, the form in which both adapters store them. No frames are the empty text. */
export function joinFrames(frames: readonly string[]): string {
  return frames.join(SEPARATOR);
}

export function splitFrames(joined: string): string[] {
  return joined === '' ? [] : joined.split(SEPARATOR);
}

/** A batch as it travels: `<run id> <first> <1 at the end, else 0>`, then the frames, each part set off by a separator. */
export function encodeBatch(batch: FrameBatch, joinedFrames: string): string {
  return `${batch.runId} ${batch.first} ${batch.end ? 1 : 0}${SEPARATOR}${joinedFrames}`;
}

/** Reads a payload: a batch, or a run id alone, which is a hint. */
export function decodeSignal(payload: string): RunSignal {
  const headEnd = payload.indexOf(SEPARATOR);
  if (headEnd < 0) {
    return { type: 'hint', runId: payload };
  }
  const [runId = '', first, end] = payload.slice(0, headEnd).split(' ');
  return {
    type: 'batch',
    runId,
    first: Number(first),
    frames: splitFrames(payload.slice(headEnd + 1)),
    end: end === '1',
  };
}
