import { type FramePosition, STREAM_START } from '../events/frame-position.js';

/** A reader's position in a run. */
export interface ReaderPosition extends FramePosition {
  /** The number of steps of the answer that it has begun. */
  readonly step: number;
  /**
   * How often it had to start over. Frames that are sent again have new ids, so that clients do not skip them as known.
   */
  readonly round: number;
  /** True once it has received the chunk that closes the answer of this attempt. */
  readonly isLast: boolean;
}

/** The position of a reader that has received no frame. */
export const NOTHING_READ: ReaderPosition = { ...STREAM_START, step: 0, round: 0, isLast: false };

const POSITION = /^(\d{1,9})\.(\d{1,9})\.([0-9a-z]{0,16})\.(\d{1,9})(\.last)?$/;

/** The `id:` of a frame: `<taskId>:<position>`. It suffices to resume, even if the live buffer has lost the frame. */
export function frameId(taskId: string, { n, step, epoch, round, isLast }: ReaderPosition): string {
  return `${taskId}:${n}.${step}.${epoch}.${round}${isLast ? '.last' : ''}`;
}

/** Parses the position of a frame's id; undefined if no frame has such an id. */
export function parsePosition(text: string): ReaderPosition | undefined {
  const [, n, step, epoch = '', round, last] = POSITION.exec(text) ?? [];
  if (n === undefined || Number(n) === 0) return undefined;
  return { n: Number(n), step: Number(step), epoch, round: Number(round), isLast: last !== undefined };
}
