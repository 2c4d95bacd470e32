/**
 * A frame as one reader knows it. Frames are numbered within their stream, and a stream that has lost its tail gives a number
 * twice: only together with the epoch of the writer does a number name a frame.
 */
export interface FramePosition {
  /** 0 stands before the first frame. */
  readonly n: number;
  /** Of the writer of frame `n`; `''` before the first frame. */
  readonly epoch: string;
}

/** Before the first frame of any stream. */
export const STREAM_START: FramePosition = { n: 0, epoch: '' };

/** The mark of one writer of a stream (`StreamWriter`). */
export function newEpoch(): string {
  return Math.floor(Math.random() * 36 ** 7)
    .toString(36)
    .padStart(7, '0');
}
