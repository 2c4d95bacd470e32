import type { FramePosition, FramePage } from './run-event-store.js';
import { splitFrames } from './signal-codec.js';

/** The state of a stream in a backend, with the stored batches around the requested frames, oldest first. */
interface StoredSlice {
  readonly ended: boolean;
  readonly nextFrame: number;
  /** Starts with the batch that holds the reader's frame. If it ends with that frame, its frames may be omitted. */
  readonly batches: readonly StoredBatch[];
}

interface StoredBatch {
  readonly first: number;
  readonly last: number;
  readonly epoch: string;
  readonly joinedFrames: string;
}

/** The page of a run that was never opened or has expired. */
export const UNKNOWN_RUN: FramePage = {
  known: false,
  diverged: false,
  ended: false,
  more: false,
  first: 0,
  epoch: '',
  frames: [],
};

/**
 * Reduces whole batches to the requested frames, all of one epoch. A stream that lost its first frames (to eviction,
 * for example) counts as expired.
 */
export function framePage(
  { ended, nextFrame, batches }: StoredSlice,
  after: FramePosition,
  maxFrames: number,
): FramePage {
  const { n } = after;
  const held = batches.find(({ first, last }) => first <= n && n <= last);
  if (n > 0 && held?.epoch !== after.epoch) {
    return held || n >= nextFrame ? { ...UNKNOWN_RUN, known: true, diverged: true } : UNKNOWN_RUN;
  }
  const wanted = n + 1;
  const following = batches.filter(({ last }) => last >= wanted);
  const start = following[0]?.first ?? wanted;
  if (start > wanted || (following.length === 0 && wanted < nextFrame)) {
    return UNKNOWN_RUN;
  }
  const epoch = following[0]?.epoch ?? after.epoch;
  const otherEpoch = following.findIndex((batch) => batch.epoch !== epoch);
  const frames = following
    .slice(0, otherEpoch < 0 ? undefined : otherEpoch)
    .flatMap(({ joinedFrames }) => splitFrames(joinedFrames))
    .slice(wanted - start, wanted - start + maxFrames);
  const more = n + frames.length < nextFrame - 1;
  return { known: true, diverged: false, ended: ended && !more, more, first: wanted, epoch, frames };
}
