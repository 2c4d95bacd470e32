import { type FramePosition, STREAM_START } from '../events/frame-position.js';

/** Where a reader of a run stands. */
export interface ReaderPosition extends FramePosition {
  /** How many steps of the answer it has begun. */
  readonly step: number;
  /** How often it had to start over: frames that are sent again have other ids, so that no client takes them for known. */
  readonly round: number;
}

/** Of a reader that has nothing. */
export const NOTHING_READ: ReaderPosition = { ...STREAM_START, step: 0, round: 0 };

const POSITION = /^(\d{1,9})\.(\d{1,9})\.([0-9a-z]{0,16})\.(\d{1,9})$/;

/** The `id:` of a frame: `<taskId>:<position>`. It says all that is needed to go on, also when the live buffer has lost the frame. */
export function frameId(taskId: string, { n, step, epoch, round }: ReaderPosition): string {
  return `${taskId}:${n}.${step}.${epoch}.${round}`;
}

/** What follows the colon in a frame's id; undefined if no frame has such an id. */
export function parsePosition(text: string): ReaderPosition | undefined {
  const [, n, step, epoch = '', round] = POSITION.exec(text) ?? [];
  if (n === undefined || Number(n) === 0) return undefined;
  return { n: Number(n), step: Number(step), epoch, round: Number(round) };
}
