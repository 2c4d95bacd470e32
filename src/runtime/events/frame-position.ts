/**
 * A frame as one reader knows it. Frames are numbered within their stream. A stream that has lost its tail assigns a
 * number twice, so only number and writer epoch together identify a frame.
 */
export interface FramePosition {
  /** 0 before the first frame. */
  readonly n: number;
  /** Epoch of the writer of frame `n`; `''` before the first frame. */
  readonly epoch: string;
}

/** Before the first frame of any stream. */
export const STREAM_START: FramePosition = { n: 0, epoch: '' };
