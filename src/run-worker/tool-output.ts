import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ToolResultPart } from 'ai';
import { excessOf, isTooDeep, MAX_VALUE_BYTES } from './answer-limits.js';

const MAX_ERROR_LENGTH = 10_000;
/** The characters of one output that a model receives: about 25,000 tokens. The transcript keeps all of it. */
const MAX_MODEL_OUTPUT_LENGTH = 100_000;
/** The characters and blocks that the transcript keeps of a result that exceeds its limit. */
const MAX_CUT_LENGTH = MAX_VALUE_BYTES - 4096;
const MAX_CUT_BLOCKS = 1000;

/** The outcome of a tool call, as the stream and the transcript show it. */
export type ToolOutcome = { output: unknown } | { errorText: string };

/**
 * Converts an MCP result to an outcome. A failed tool gives the reason in its text content. A result that is too large for the
 * transcript is cut, and says so.
 */
export function toOutcome(result: CallToolResult): ToolOutcome {
  if (result.isError === true) {
    const text = textOf(result).slice(0, MAX_ERROR_LENGTH);
    return { errorText: text === '' ? 'The tool failed without an error message.' : text };
  }
  const excess = excessOf(result);
  if (excess === undefined) return { output: result };
  return isTooDeep(result) ? { errorText: `The tool's result is ${excess}.` } : { output: cutResult(result) };
}

/** The first content blocks, the last of them cut, and a block that says how much was left out. */
function cutResult({ content = [], structuredContent }: CallToolResult): CallToolResult {
  let room = MAX_CUT_LENGTH;
  let leftOut = structuredContent === undefined ? 0 : JSON.stringify(structuredContent).length;
  const kept: CallToolResult['content'] = [];
  for (const block of content) {
    const length = block.type === 'text' ? block.text.length : JSON.stringify(block).length;
    const fits = kept.length < MAX_CUT_BLOCKS ? Math.min(length, room) : 0;
    if (fits === length) kept.push(block.type === 'text' ? { type: 'text', text: block.text } : block);
    else if (fits > 0 && block.type === 'text')
      kept.push({ type: 'text', text: block.text.slice(0, fits).toWellFormed() });
    const taken = fits === length || block.type === 'text' ? fits : 0;
    room -= taken;
    leftOut += length - taken;
  }
  return { content: [...kept, { type: 'text', text: leftOutNote(leftOut) }] };
}

function leftOutNote(characters: number): string {
  return `[${characters} characters of this output were left out.]`;
}

/**
 * Converts a stored output for the model: to text if it holds only text, otherwise to JSON. The model receives the beginning of
 * a long output, as text.
 */
export function toModelOutput(output: unknown): ToolResultPart['output'] {
  if (isToolResult(output) && output.content.every(({ type }) => type === 'text')) {
    return { type: 'text', value: cutText(textOf(output)) };
  }
  const text = JSON.stringify(output ?? null);
  return text.length > MAX_MODEL_OUTPUT_LENGTH
    ? { type: 'text', value: cutText(text) }
    : { type: 'json', value: JSON.parse(text) };
}

function cutText(text: string): string {
  const leftOut = text.length - MAX_MODEL_OUTPUT_LENGTH;
  if (leftOut <= 0) return text;
  return `${text.slice(0, MAX_MODEL_OUTPUT_LENGTH).toWellFormed()}\n${leftOutNote(leftOut)}`;
}

function isToolResult(output: unknown): output is CallToolResult {
  return typeof output === 'object' && output !== null && 'content' in output && Array.isArray(output.content);
}

function textOf(result: CallToolResult): string {
  return (result.content ?? []).flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}
