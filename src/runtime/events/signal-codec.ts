import { createHash } from 'node:crypto';
import type { FrameBatch, PreviousRun, RunSignal, RunTopic } from './run-event-store.js';

/**
 * Separates frames. JSON text cannot contain control characters (RFC 8259 §7); this one is the record separator of JSON
 * text sequences (RFC 7464 §2.2).
 */
const SEPARATOR = '\u001E';

/** Encodes "no preceding run" in place of a run id. */
const NO_RUN = '-';

/** A short topic name for use in channel names: 32 hexadecimal digits. */
export function topicHash(topic: RunTopic): string {
  return createHash('sha256').update(`${topic.organizationId}/${topic.threadId}`).digest('hex').slice(0, 32);
}

/** The frames of a batch as one string, as both adapters store them. Empty if there are no frames. */
export function joinFrames(frames: readonly string[]): string {
  return frames.join(SEPARATOR);
}

export function splitFrames(joined: string): string[] {
  return joined === '' ? [] : joined.split(SEPARATOR);
}

/** The wire form of the preceding run: its id, or a dash. */
export function encodePrevious(follows: PreviousRun): string {
  return follows ?? NO_RUN;
}

/**
 * The wire form of a batch: `<run id> <first> <1 at the end, otherwise 0> <epoch>`, optionally the preceding run, then
 * the frames, each preceded by a separator.
 */
export function encodeBatch(batch: FrameBatch, joinedFrames: string, follows?: PreviousRun): string {
  const previous = follows === undefined ? '' : ` ${encodePrevious(follows)}`;
  return `${batch.runId} ${batch.first} ${batch.end ? 1 : 0} ${batch.epoch}${previous}${SEPARATOR}${joinedFrames}`;
}

/** Parses a payload: a batch, or a run id alone, which is a hint. */
export function decodeSignal(payload: string): RunSignal {
  const headEnd = payload.indexOf(SEPARATOR);
  if (headEnd < 0) {
    return { type: 'hint', runId: payload };
  }
  const [runId = '', first, end, epoch = '', follows] = payload.slice(0, headEnd).split(' ');
  return {
    type: 'batch',
    runId,
    epoch,
    first: Number(first),
    frames: splitFrames(payload.slice(headEnd + 1)),
    end: end === '1',
    ...(follows === undefined ? {} : { follows: follows === NO_RUN ? null : follows }),
  };
}
