import type { UIMessageChunk } from 'ai';
import { exceededLimit } from '../../core/json-size.js';

/** The maximum nesting depth of a tool's input or output, and of a provider's metadata. */
export const MAX_VALUE_DEPTH = 100;
/**
 * The largest input or output of a tool, in bytes of JSON. Larger values would delay the stream, the transcript and the
 * model.
 */
export const MAX_VALUE_BYTES = 1_048_576;
/** The number of tool calls that are executed per step; the model receives an error for the others. */
export const MAX_CALLS_PER_STEP = 128;
/** The maximum number of parts in all steps together. */
export const MAX_ANSWER_PARTS = 5000;
/** The maximum size of an answer in the stream, in characters of JSON. */
export const MAX_ANSWER_SIZE = 8 * 1_048_576;

/** The approximate size of a delta in the stream without its text. */
const DELTA_FRAME_SIZE = 32;
const VALUE_LIMITS = { depth: MAX_VALUE_DEPTH, nodes: 250_000, characters: MAX_VALUE_BYTES };

/** The answer exceeds `MAX_ANSWER_PARTS` or `MAX_ANSWER_SIZE`. */
export class AnswerOverflowError extends Error {
  override readonly name = 'AnswerOverflowError';
}

/**
 * Returns why a JSON value cannot be part of an answer, as the end of a sentence. Returns undefined if it can; the
 * value is then safe to serialize.
 */
export function excessOf(value: unknown): string | undefined {
  const exceeded = exceededLimit(value, VALUE_LIMITS);
  if (exceeded === undefined) return undefined;
  return exceeded === 'depth' ? `nested more than ${MAX_VALUE_DEPTH} deep` : `larger than ${MAX_VALUE_BYTES} bytes`;
}

/** Whether the nesting alone keeps a JSON value out of an answer: no part of it can be left out then. */
export function isTooDeep(value: unknown): boolean {
  return exceededLimit(value, { ...VALUE_LIMITS, nodes: Infinity, characters: Infinity }) === 'depth';
}

/**
 * The approximate size of a chunk in the stream, in characters. Deltas are frequent, so they are not serialized to
 * measure them.
 */
export function sizeOfChunk(chunk: UIMessageChunk): number {
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return DELTA_FRAME_SIZE + chunk.id.length + chunk.delta.length;
    case 'tool-input-delta':
      return DELTA_FRAME_SIZE + chunk.toolCallId.length + chunk.inputTextDelta.length;
    default:
      return JSON.stringify(chunk).length;
  }
}
