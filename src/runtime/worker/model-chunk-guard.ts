import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { UIMessage, UIMessageChunk } from 'ai';
import { newId } from '../../core/ids.js';
import {
  AnswerOverflowError,
  excessOf,
  MAX_ANSWER_PARTS,
  MAX_ANSWER_SIZE,
  MAX_CALLS_PER_STEP,
  MAX_VALUE_BYTES,
  MAX_VALUE_DEPTH,
} from './answer-limits.js';

type ChunkOf<Type extends UIMessageChunk['type']> = Extract<UIMessageChunk, { type: Type }>;
type InputChunk = ChunkOf<'tool-input-available' | 'tool-input-error'>;

const USABLE_ID = /^[\x21-\x7e]{1,128}$/;
const TOO_MANY_CALLS = `The call was not made: the limit is ${MAX_CALLS_PER_STEP} tool calls per step.`;

/** A tool call of the step. */
interface GuardedCall {
  /** The call's id in the answer. */
  readonly id: string;
  /** Set if the call is not executed and its input is discarded. */
  refusal: string | undefined;
  readonly input: InputText;
  complete: boolean;
}

/**
 * Filters the chunks of one model call before they enter an answer. It corrects errors of the provider, so that
 * everything in an answer can be streamed, stored, and sent to a model again: inputs and metadata are bounded in depth
 * and size, tool calls in number; ids of tool calls are unique in the answer, and names of tools have the form that
 * providers accept.
 */
export class ModelChunkGuard {
  /** By the provider's id; a repeated id refers to its latest call. */
  private readonly calls = new Map<string, GuardedCall>();
  private readonly usedIds: Set<string>;
  private readonly unusableInputs = new Map<string, string>();
  private count = 0;
  /** Characters of the inputs of refused calls, which the SDK keeps until the step ends. */
  private discarded = 0;

  /** @param parts the answer so far */
  constructor(
    parts: UIMessage['parts'],
    private readonly tools: object,
  ) {
    this.usedIds = new Set(parts.flatMap((part) => ('toolCallId' in part ? [part.toolCallId] : [])));
  }

  /**
   * The part of the provider's stream, within the limits; undefined if it cannot be used. The input of a tool call that
   * exceeds them becomes empty, and `accept` refuses the call.
   */
  bound(part: LanguageModelV4StreamPart): LanguageModelV4StreamPart | undefined {
    if (part.type === 'tool-call') {
      const excess = new InputText().add(part.input);
      if (excess === undefined) return part;
      this.unusableInputs.set(part.toolCallId, excess);
      return { ...part, input: '{}' };
    }
    if (!('providerMetadata' in part) && part.type !== 'tool-result') return part;
    if (part.type === 'tool-result' && excessOf(part.result) !== undefined) return undefined;
    return boundMetadata(part);
  }

  /**
   * Returns the chunk to add to the answer; undefined if it adds nothing or cannot be used.
   * @throws AnswerOverflowError if there are too many calls, or too much of them cannot be used
   */
  accept(chunk: UIMessageChunk): UIMessageChunk | undefined {
    switch (chunk.type) {
      case 'text-delta':
      case 'reasoning-delta':
        if (chunk.providerMetadata !== undefined) return boundMetadata(chunk);
        return chunk.delta === '' ? undefined : chunk;
      case 'tool-input-start':
        return this.startInput(chunk);
      case 'tool-input-delta':
        return this.continueInput(chunk);
      case 'tool-input-available':
      case 'tool-input-error':
        return this.completeInput(chunk);
      case 'tool-output-available':
        return this.settle(chunk);
      case 'file':
      case 'reasoning-file':
        return boundMetadata(chunk);
      default:
        return this.acceptOther(chunk);
    }
  }

  private acceptOther(chunk: UIMessageChunk): UIMessageChunk | undefined {
    const bounded = boundMetadata(chunk);
    if (excessOf(bounded) !== undefined) return undefined;
    return 'toolCallId' in bounded ? { ...bounded, toolCallId: this.idOf(bounded.toolCallId) } : bounded;
  }

  private startInput(chunk: ChunkOf<'tool-input-start'>): UIMessageChunk | undefined {
    const call = this.open(chunk.toolCallId);
    if (call.refusal !== undefined) return undefined;
    return boundMetadata({ ...chunk, toolCallId: call.id, toolName: this.nameOf(chunk.toolName) });
  }

  private continueInput(chunk: ChunkOf<'tool-input-delta'>): UIMessageChunk | undefined {
    const call = this.calls.get(chunk.toolCallId);
    if (call === undefined || call.refusal !== undefined) {
      this.discarded += chunk.inputTextDelta.length;
      if (this.discarded > MAX_ANSWER_SIZE) throw new AnswerOverflowError();
      return undefined;
    }
    const excess = call.input.add(chunk.inputTextDelta);
    if (excess !== undefined) {
      call.refusal = unusableInput(excess);
      return undefined;
    }
    return { ...chunk, toolCallId: call.id };
  }

  private completeInput(chunk: InputChunk): UIMessageChunk | undefined {
    const known = this.calls.get(chunk.toolCallId);
    const call = known === undefined || known.complete ? this.open(chunk.toolCallId) : known;
    call.complete = true;
    const toolName = this.nameOf(chunk.toolName);
    const excess = this.unusableInputs.get(chunk.toolCallId) ?? excessOf(chunk.input);
    const refusal = call.refusal ?? (excess && unusableInput(excess));
    if (refusal === undefined) return boundMetadata({ ...chunk, toolCallId: call.id, toolName });
    return { type: 'tool-input-error', toolCallId: call.id, toolName, input: {}, dynamic: true, errorText: refusal };
  }

  /** Handles the result of a tool that the provider executed. */
  private settle(chunk: ChunkOf<'tool-output-available'>): UIMessageChunk | undefined {
    const toolCallId = this.idOf(chunk.toolCallId);
    const excess = excessOf(chunk.output);
    if (excess === undefined) return boundMetadata({ ...chunk, toolCallId });
    return { type: 'tool-output-error', toolCallId, dynamic: true, errorText: `The tool's result is ${excess}.` };
  }

  private open(providerId: string): GuardedCall {
    const isUsable = USABLE_ID.test(providerId) && !this.usedIds.has(providerId);
    const id = isUsable ? providerId : `call_${newId()}`;
    this.usedIds.add(id);
    this.count += 1;
    // A call takes memory also if it never becomes a part.
    if (this.count > MAX_ANSWER_PARTS) throw new AnswerOverflowError();
    const refusal = this.count > MAX_CALLS_PER_STEP ? TOO_MANY_CALLS : undefined;
    const call: GuardedCall = { id, refusal, input: new InputText(), complete: false };
    this.calls.set(providerId, call);
    return call;
  }

  private idOf(providerId: string): string {
    return this.calls.get(providerId)?.id ?? providerId;
  }

  /** Replaces the name of an unknown tool by one that providers accept. */
  private nameOf(name: string): string {
    if (Object.hasOwn(this.tools, name)) return name;
    return name.slice(0, 64).replace(/[^A-Za-z0-9_-]/g, '_') || 'unnamed';
  }
}

function unusableInput(excess: string): string {
  return `The call was not made: its arguments are ${excess}.`;
}

/** Removes the provider's metadata from a chunk or part if it is too large or nested too deeply. */
function boundMetadata<T extends object>(chunk: T): T {
  if (!('providerMetadata' in chunk) || excessOf(chunk.providerMetadata) === undefined) return chunk;
  const { providerMetadata: _, ...rest } = chunk;
  return rest as T;
}

/** The JSON text of a tool's input while it arrives in pieces: its length and depth so far. */
class InputText {
  private size = 0;
  private depth = 0;
  private deepest = 0;
  private inString = false;
  private escaped = false;

  /** Returns why the text exceeds the limits with this piece, as the end of a sentence. */
  add(piece: string): string | undefined {
    this.size += piece.length;
    if (this.size > MAX_VALUE_BYTES) return `larger than ${MAX_VALUE_BYTES} bytes`;
    for (const sign of piece.matchAll(/["\\[\]{}]|[^"\\[\]{}]+/g)) this.read(sign[0]);
    return this.deepest > MAX_VALUE_DEPTH ? `nested more than ${MAX_VALUE_DEPTH} deep` : undefined;
  }

  private read(sign: string): void {
    if (this.escaped) this.escaped = false;
    else if (sign === '\\') this.escaped = this.inString;
    else if (sign === '"') this.inString = !this.inString;
    else if (this.inString) return;
    else if (sign === '[' || sign === '{') this.deepest = Math.max(this.deepest, ++this.depth);
    else if (sign === ']' || sign === '}') this.depth -= 1;
  }
}
