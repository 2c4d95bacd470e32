import { UIMessageStreamError, type ReasoningUIPart, type TextUIPart, type UIMessage, type UIMessageChunk } from 'ai';
import { isRecord } from '../../core/is-record.js';
import {
  MessageParts,
  type MessagePart,
  ToolCallFolder,
  withoutUndefined,
  inputOf,
  isToolPart,
} from './folding/tool-call-folder.js';

type ChunkOf<Type extends UIMessageChunk['type']> = Extract<UIMessageChunk, { type: Type }>;
type DataChunk = ChunkOf<`data-${string}`>;

/**
 * Folds the UI-message chunks of one answer into the parts of its `UIMessage`.
 *
 * The result equals that of `readUIMessageStream` (package `ai`), which clones the whole message at every chunk. This
 * class changes its own state, so a delta costs the same in a short answer as in a long one.
 */
export class MessageFolder {
  private id = '';
  private mergedMetadata: Metadata | undefined;
  private folded = new MessageParts();
  private toolCalls = new ToolCallFolder(this.folded);
  private readonly openTexts = new Map<string, TextUIPart>();
  private readonly openReasonings = new Map<string, ReasoningUIPart>();

  get metadata(): Metadata | undefined {
    return this.mergedMetadata;
  }

  /** The number of parts so far. */
  get partCount(): number {
    return this.folded.count;
  }

  /**
   * The parts so far, without undefined fields. The list and its parts belong to the caller; the values below them
   * (inputs, outputs, data) are shared with the chunks and must not be changed.
   */
  parts(): UIMessage['parts'] {
    // `ai` has a type for each state of a tool call; here one type holds them all. The property test of this class, not
    // the compiler, shows that the fields fit the state.
    return this.folded.all().map(snapshot) as UIMessage['parts'];
  }

  /** @throws UIMessageStreamError on a delta, an end or an output without a start */
  apply(chunk: UIMessageChunk): void {
    switch (chunk.type) {
      case 'start':
        return this.start(chunk);
      case 'finish':
      case 'message-metadata':
        return this.addMetadata(chunk.messageMetadata);
      case 'start-step':
        this.toolCalls.startStep();
        return this.folded.startStep();
      case 'reset-step':
        return this.resetStep();
      case 'text-start':
      case 'reasoning-start':
        return this.startText(chunk);
      case 'text-delta':
      case 'reasoning-delta': {
        const part = this.openPart(chunk);
        part.text += chunk.delta;
        part.providerMetadata = chunk.providerMetadata ?? part.providerMetadata;
        return;
      }
      case 'text-end':
      case 'reasoning-end':
        return this.endText(chunk);
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-available':
      case 'tool-input-error':
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
      case 'tool-approval-request':
      case 'tool-approval-response':
        return this.toolCalls.apply(chunk);
      case 'source-url':
      case 'source-document':
      case 'file':
      case 'reasoning-file':
      case 'custom':
      case 'steering-message':
        return this.folded.push({ ...chunk });
      case 'finish-step':
      case 'error':
      case 'abort':
        return;
      default:
        return this.setData(chunk);
    }
  }

  /** The chunks that end the texts which are open. */
  endsOfOpenTexts(): UIMessageChunk[] {
    return [
      ...[...this.openTexts.keys()].map((id) => ({ type: 'text-end' as const, id })),
      ...[...this.openReasonings.keys()].map((id) => ({ type: 'reasoning-end' as const, id })),
    ];
  }

  private start(chunk: ChunkOf<'start'>): void {
    const { messageId } = chunk;
    if (messageId !== undefined && messageId !== this.id) {
      // A new answer begins; the previous one is discarded.
      this.id = messageId;
      this.mergedMetadata = undefined;
      this.folded = new MessageParts();
      this.toolCalls = new ToolCallFolder(this.folded);
      this.clearOpenTexts();
    }
    this.addMetadata(chunk.messageMetadata);
  }

  /** Merges metadata that is a JSON object; other metadata is ignored. */
  private addMetadata(metadata: unknown): void {
    if (isRecord(metadata)) this.mergedMetadata = mergeMetadata(this.mergedMetadata ?? {}, metadata);
  }

  private resetStep(): void {
    this.folded.resetStep();
    this.toolCalls.resetStep();
    this.clearOpenTexts();
  }

  private clearOpenTexts(): void {
    this.openTexts.clear();
    this.openReasonings.clear();
  }

  private startText({ type, id, providerMetadata }: ChunkOf<'text-start' | 'reasoning-start'>): void {
    if (type === 'text-start') {
      const part: TextUIPart = { type: 'text', text: '', providerMetadata, state: 'streaming' };
      this.openTexts.set(id, part);
      this.folded.push(part);
    } else {
      const part: ReasoningUIPart = { type: 'reasoning', id, text: '', providerMetadata, state: 'streaming' };
      this.openReasonings.set(id, part);
      this.folded.push(part);
    }
  }

  private openPart(chunk: ChunkOf<`${'text' | 'reasoning'}-${'delta' | 'end'}`>): TextUIPart | ReasoningUIPart {
    const open = chunk.type.startsWith('text') ? this.openTexts : this.openReasonings;
    const part = open.get(chunk.id);
    if (part) return part;
    const { type: chunkType, id: chunkId } = chunk;
    throw new UIMessageStreamError({
      chunkType,
      chunkId,
      message: `${chunkType} for "${chunkId}", which is not open.`,
    });
  }

  private endText(chunk: ChunkOf<'text-end' | 'reasoning-end'>): void {
    const part = this.openPart(chunk);
    part.state = 'done';
    part.providerMetadata = chunk.providerMetadata ?? part.providerMetadata;
    if (chunk.type === 'reasoning-end') {
      this.openReasonings.delete(chunk.id);
    } else {
      if (part.type === 'text') part.citations = chunk.citations ?? part.citations;
      this.openTexts.delete(chunk.id);
    }
  }

  private setData(chunk: DataChunk): void {
    if (chunk.transient) return;
    const known =
      chunk.id !== undefined &&
      this.folded.all().find((part) => part.type === chunk.type && 'id' in part && part.id === chunk.id);
    if (known && 'data' in known) known.data = chunk.data;
    else this.folded.push({ ...chunk });
  }
}

function snapshot(part: MessagePart): MessagePart {
  return withoutUndefined(isToolPart(part) ? { ...part, input: inputOf(part) } : part);
}

type Metadata = Record<string, unknown>;

/**
 * Merges message metadata as `ai` does: nested objects are merged, arrays and everything else are replaced, undefined
 * changes nothing, and keys that could reach a prototype are left out. Neither argument is changed.
 */
function mergeMetadata(base: Metadata, overrides: Metadata): Metadata {
  const merged = { ...base };
  for (const [key, value] of Object.entries(overrides)) {
    if (value === undefined || key === '__proto__' || key === 'constructor' || key === 'prototype') continue;
    const before = merged[key];
    merged[key] = isRecord(before) && isRecord(value) ? mergeMetadata(before, value) : value;
  }
  return merged;
}
