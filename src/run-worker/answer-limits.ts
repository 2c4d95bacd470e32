import type { UIMessageChunk } from 'ai';
import { exceededLimit } from '../common/json-size.js';

/** How deep the lists and objects of a tool's input or output, or of what a provider adds to a part, may be nested. */
export const MAX_VALUE_DEPTH = 100;
/** The largest input or output of a tool, in bytes of JSON. More would hold up the stream, the transcript and the model. */
export const MAX_VALUE_BYTES = 1_048_576;
/** Tool calls of one step that are executed; the model is told that the others were not. */
export const MAX_CALLS_PER_STEP = 128;
/** All steps together. */
export const MAX_ANSWER_PARTS = 5000;
/** What an answer may add up to in the stream, in characters of JSON. */
export const MAX_ANSWER_SIZE = 8 * 1_048_576;

/** About what a delta takes in the stream besides its text. */
const DELTA_FRAME_SIZE = 32;
const VALUE_LIMITS = { depth: MAX_VALUE_DEPTH, nodes: 250_000, characters: MAX_VALUE_BYTES };

/** The answer exceeds `MAX_ANSWER_PARTS` or `MAX_ANSWER_SIZE`. */
export class AnswerOverflowError extends Error {
  override readonly name = 'AnswerOverflowError';
}

/** Why a JSON value cannot be part of an answer, as the end of a sentence; undefined if it can. It is safe to write as JSON then. */
export function excessOf(value: unknown): string | undefined {
  const exceeded = exceededLimit(value, VALUE_LIMITS);
  if (exceeded === undefined) return undefined;
  return exceeded === 'depth' ? `nested more than ${MAX_VALUE_DEPTH} deep` : `larger than ${MAX_VALUE_BYTES} bytes`;
}

/** About how many characters a chunk takes in the stream. Deltas, of which there are many, are not written for it. */
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
