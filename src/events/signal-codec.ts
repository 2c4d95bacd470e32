import { createHash } from 'node:crypto';
import type { FrameBatch, PreviousRun, RunSignal, RunTopic } from './run-event-store.js';

/**
 * Stands between frames. A control character cannot occur inside JSON text (RFC 8259 §7), and this one is the record
 * separator of JSON text sequences (RFC 7464 §2.2).
 */
const SEPARATOR = '\u001E';

/** Stands for "no run before this one" where a run id would. */
const NO_RUN = '-';

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

/** The run before another one as it travels: its id, or a dash. */
export function encodePrevious(follows: PreviousRun): string {
  return follows ?? NO_RUN;
}

/**
 * A batch as it travels: `<run id> <first> <1 at the end, else 0> <epoch>` and, where it is said, the run that this one follows;
 * then the frames, each part set off by a separator.
 */
export function encodeBatch(batch: FrameBatch, joinedFrames: string, follows?: PreviousRun): string {
  const previous = follows === undefined ? '' : ` ${encodePrevious(follows)}`;
  return `${batch.runId} ${batch.first} ${batch.end ? 1 : 0} ${batch.epoch}${previous}${SEPARATOR}${joinedFrames}`;
}

/** Reads a payload: a batch, or a run id alone, which is a hint. */
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
