import type { UIMessageChunk } from 'ai';

/** The version of the npm package `ai` that knows all chunks. */
const CURRENT_AI_VERSION = 7;

/** Chunks without which a reader misses nothing that it could show: version 6 has no parts for them. */
const LEFT_OUT: ReadonlySet<UIMessageChunk['type']> = new Set([
  'custom',
  'reasoning-file',
  'steering-message',
  'tool-approval-response',
]);

const REPEATED = 'The call was interrupted. The step is repeated.';

/**
 * The chunks of one run for a reader with `ai` 6, which fails at a chunk that it does not know.
 *
 * Version 6 cannot drop what it has received of a step. Before the step is repeated, its open parts are closed instead:
 * the reader shows what it had until it loads the transcript.
 */
export class OlderChunks {
  /** The chunks that close the parts of the current step that are still open, by the part's id. */
  private readonly open = new Map<string, UIMessageChunk>();

  private constructor() {}

  /** What translates for a reader of this version; undefined if it reads everything. */
  static for(aiVersion: number | undefined): OlderChunks | undefined {
    return aiVersion === undefined || aiVersion >= CURRENT_AI_VERSION ? undefined : new OlderChunks();
  }

  /** The chunks to send instead of this one, as JSON. */
  translate(frame: string): readonly string[] {
    const chunk = JSON.parse(frame) as UIMessageChunk;
    if (chunk.type === 'reset-step') return this.closeStep();
    if (LEFT_OUT.has(chunk.type)) return [];
    this.follow(chunk);
    return [frame];
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
        const failed: UIMessageChunk = { type: 'tool-output-error', toolCallId, errorText: REPEATED, dynamic: true };
        return void this.open.set(`tool ${toolCallId}`, failed);
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
