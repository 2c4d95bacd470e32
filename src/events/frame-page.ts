import type { FramePage } from './run-event-store.js';
import { splitFrames } from './signal-codec.js';

/** What a backend knows of a stream, and the stored batches around the frames asked for, oldest first. */
export interface StoredSlice {
  readonly ended: boolean;
  readonly nextFrame: number;
  readonly batches: readonly { readonly first: number; readonly joinedFrames: string }[];
}

/** The page of a run that was never opened, or has expired. */
export const UNKNOWN_RUN: FramePage = { known: false, ended: false, more: false, first: 0, frames: [] };

/** Cuts whole batches down to the frames that were asked for. A stream that lost frames (to eviction, say) counts as expired. */
export function framePage(slice: StoredSlice, after: number, maxFrames: number): FramePage {
  const wanted = after + 1;
  const isStored = wanted < slice.nextFrame;
  const start = slice.batches[0]?.first ?? Infinity;
  if (isStored && start > wanted) {
    return UNKNOWN_RUN;
  }
  const joined = isStored ? slice.batches : [];
  const skip = isStored ? wanted - start : 0;
  const frames = joined.flatMap(({ joinedFrames }) => splitFrames(joinedFrames)).slice(skip, skip + maxFrames);
  const more = after + frames.length < slice.nextFrame - 1;
  return { known: true, ended: slice.ended && !more, more, first: wanted, frames };
}
