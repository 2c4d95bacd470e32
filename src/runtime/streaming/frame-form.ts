import type { UIMessageChunk } from 'ai';

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

/** The version of the npm package `ai` that knows all chunks. */
const CURRENT_AI_VERSION = 7;

/** The oldest version that reads answers in parts. */
export const OLDEST_AI_VERSION = 5;

/** The first version with parts for these chunks. Without them, an older one misses nothing that it could show. */
const READ_SINCE: Partial<Record<UIMessageChunk['type'], number>> = {
  'tool-approval-request': 6,
  'tool-approval-response': 7,
  'steering-message': 7,
  'reasoning-file': 7,
  custom: 7,
};
const DENIED_SINCE = 6;

const DENIED = 'The call was not approved.';
const REPEATED = 'The call was interrupted. The step is repeated.';

/**
 * The chunks of one run for a reader with `ai` 5 or 6, which fails at a chunk that it does not know.
 *
 * These versions cannot drop what they have received of a step. Before the step is repeated, its open parts are closed
 * instead: the reader shows what it had until it loads the transcript. Version 5 knows no approvals: a call that needs
 * one is a call under way until it is answered elsewhere, and one that is denied has failed.
 */
export class OlderChunks {
  /** The chunks that close the parts of the current step that are still open, by the part's id. */
  private readonly open = new Map<string, UIMessageChunk>();

  private constructor(private readonly version: number) {}

  /** What translates for a reader of this version; undefined if it reads everything. */
  static for(aiVersion: number | undefined): OlderChunks | undefined {
    return aiVersion === undefined || aiVersion >= CURRENT_AI_VERSION ? undefined : new OlderChunks(aiVersion);
  }

  /** The chunks to send instead of this one, as JSON. */
  translate(frame: string): readonly string[] {
    const chunk = JSON.parse(frame) as UIMessageChunk;
    if (chunk.type === 'reset-step') return this.closeStep();
    if (this.version < (READ_SINCE[chunk.type] ?? OLDEST_AI_VERSION)) return [];
    this.follow(chunk);
    return chunk.type === 'tool-output-denied' && this.version < DENIED_SINCE
      ? [JSON.stringify(failed(chunk.toolCallId, DENIED))]
      : [frame];
  }

  private closeStep(): string[] {
    const closing = [...this.open.values()].map((chunk) => JSON.stringify(chunk));
    this.open.clear();
    return closing;
  }

  private follow(chunk: UIMessageChunk): void {
    switch (chunk.type) {
      case 'start-step':
      case 'finish-step':
        return this.open.clear();
      case 'text-start':
        return void this.open.set(`text ${chunk.id}`, { type: 'text-end', id: chunk.id });
      case 'text-end':
        return void this.open.delete(`text ${chunk.id}`);
      case 'reasoning-start':
        return void this.open.set(`reasoning ${chunk.id}`, { type: 'reasoning-end', id: chunk.id });
      case 'reasoning-end':
        return void this.open.delete(`reasoning ${chunk.id}`);
      case 'tool-input-start':
      case 'tool-input-available': {
        const { toolCallId } = chunk;
        return void this.open.set(`tool ${toolCallId}`, failed(toolCallId, REPEATED));
      }
      case 'tool-input-error':
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        return void this.open.delete(`tool ${chunk.toolCallId}`);
      default:
    }
  }
}

/** All tools of an agent are dynamic. */
function failed(toolCallId: string, errorText: string): UIMessageChunk {
  return { type: 'tool-output-error', toolCallId, errorText, dynamic: true };
}
