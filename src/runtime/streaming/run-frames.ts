import type { UIMessageChunk } from 'ai';
import { STREAM_START, type FrameBatch, type FramePosition } from '../events/run-event-store.js';
import type { FrameForm } from './frame-form.js';

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

const STEP_START = '{"type":"start-step"';
const LAST_OF_AN_ANSWER = /^\{"type":"(?:finish|error|abort)"/;
/** Chunks about the answer as a whole, which belong to no step. */
const ABOUT_THE_WHOLE = /^\{"type":"(?:finish|error|abort|message-metadata)"/;

/**
 * The frames of one run for one reader, in wire format, and the reader's position in them.
 *
 * A reader can have frames that the live buffer has lost. All steps before its last one are in the transcript, and so
 * in the stream of every later attempt; only the content of its last step is void. The reader therefore gets
 * `reset-step`, which drops that content, and then the content of the same step from the current stream.
 */
export class RunFrames {
  private current: ReaderPosition;
  /** The number of steps begun in the stream that is read again, up to the reader's own. */
  private stepsSkipped: number | undefined;
  private lastFrame = '';

  constructor(
    private readonly runId: string,
    after: ReaderPosition,
    readonly form: FrameForm,
  ) {
    this.current = after;
  }

  /** The frame after which the reader resumes. */
  get position(): ReaderPosition {
    return this.current;
  }

  /** True once the reader has received the chunk that closes an answer. */
  get isAnswerClosed(): boolean {
    return LAST_OF_AN_ANSWER.test(this.lastFrame);
  }

  /** Resumes at the beginning of the stream. Returns the frames to send first. */
  startOver(): string {
    const { step, round } = this.current;
    this.current = { ...STREAM_START, step, round: round + 1, isLast: false };
    this.stepsSkipped = step === 0 ? undefined : 0;
    return step === 0 ? '' : this.form.resetStep();
  }

  /** The frames to send to the reader out of these. */
  take({ first, epoch, frames }: FrameBatch): string {
    let text = '';
    for (const [i, frame] of frames.entries()) {
      const begins = frame.startsWith(STEP_START);
      const step = this.current.step + (begins && this.stepsSkipped === undefined ? 1 : 0);
      this.current = { ...this.current, n: first + i, step, epoch };
      if (this.isForReader(frame, begins)) text += this.write(frame);
    }
    return text;
  }

  /** The frames to send when the answer is completed from the transcript. They have no writer. */
  takeStored(chunks: readonly UIMessageChunk[]): string {
    let text = this.startOver();
    this.stepsSkipped = undefined;
    for (const chunk of chunks) {
      const step = this.current.step + (chunk.type === 'start-step' ? 1 : 0);
      this.current = { ...this.current, n: this.current.n + 1, step };
      text += this.write(JSON.stringify(chunk));
    }
    return text;
  }

  private isForReader(frame: string, begins: boolean): boolean {
    if (this.stepsSkipped === undefined) return true;
    if (begins) this.stepsSkipped += 1;
    if (this.stepsSkipped === this.current.step) this.stepsSkipped = undefined;
    return ABOUT_THE_WHOLE.test(frame);
  }

  private write(frame: string): string {
    this.lastFrame = frame;
    this.current = { ...this.current, isLast: this.isAnswerClosed };
    return this.form.write(frame, frameId(this.runId, this.current));
  }
}
