import type { UIMessageChunk } from 'ai';
import { OlderChunks } from './older-chunks.js';

const RESET_STEP = JSON.stringify({ type: 'reset-step' } satisfies UIMessageChunk);
const DONE_FRAME = 'data: [DONE]\n\n';

/** How one reader gets the frames of one run: the text of its stream, in wire format. */
export interface FrameForm {
  /** True once the reader has everything that it wants of the run, although the run goes on. */
  readonly isFull: boolean;
  /** Whether the reader leaves when the run waits for approvals. */
  readonly endsWhenWaiting: boolean;
  /** What is sent before the first frame. */
  begin(): string | Promise<string>;
  /** What is sent for a frame. @param id its position, with which the reader can resume */
  write(frame: string, id: string): string;
  /** What is sent before the current step is sent again: its content so far is void. */
  resetStep(): string;
  /** What is sent after the last frame. */
  end(): string | Promise<string>;
}

/** The chunks themselves, as `ai` reads them. */
export class UiMessageForm implements FrameForm {
  readonly isFull = false;
  readonly endsWhenWaiting = false;
  private readonly older: OlderChunks | undefined;

  /** @param aiVersion the version of `ai` that the reader states; undefined if it states none */
  constructor(aiVersion?: number) {
    this.older = OlderChunks.for(aiVersion);
  }

  begin(): string {
    return '';
  }

  write(frame: string, id: string): string {
    if (this.older === undefined) return withId(frame, id);
    const chunks = this.older.translate(frame);
    const last = chunks.at(-1);
    // The id belongs to the last one, so that a reader that resumes misses none.
    return last === undefined ? '' : dataOf(chunks.slice(0, -1)) + withId(last, id);
  }

  resetStep(): string {
    return dataOf(this.older?.translate(RESET_STEP) ?? [RESET_STEP]);
  }

  end(): string {
    return DONE_FRAME;
  }
}

function withId(frame: string, id: string): string {
  return `id: ${id}\ndata: ${frame}\n\n`;
}

/** Frames without ids. */
function dataOf(chunks: readonly string[]): string {
  return chunks.map((chunk) => `data: ${chunk}\n\n`).join('');
}
