import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ToolResultPart } from 'ai';
import { excessOf } from './answer-limits.js';

const MAX_ERROR_LENGTH = 10_000;

/** The outcome of a tool call, as the stream and the transcript show it. */
export type ToolOutcome = { output: unknown } | { errorText: string };

/** Converts an MCP result to an outcome. A failed tool gives the reason in its text content. */
export function toOutcome(result: CallToolResult): ToolOutcome {
  if (result.isError === true) {
    const text = textOf(result).slice(0, MAX_ERROR_LENGTH);
    return { errorText: text === '' ? 'The tool failed without an error message.' : text };
  }
  const excess = excessOf(result);
  return excess === undefined ? { output: result } : { errorText: `The tool's result is ${excess}.` };
}

/** Converts a stored output for the model: to text if it holds only text, otherwise to JSON. */
export function toModelOutput(output: unknown): ToolResultPart['output'] {
  if (isToolResult(output) && output.content.every(({ type }) => type === 'text')) {
    return { type: 'text', value: textOf(output) };
  }
  return { type: 'json', value: JSON.parse(JSON.stringify(output ?? null)) };
}

function isToolResult(output: unknown): output is CallToolResult {
  return typeof output === 'object' && output !== null && 'content' in output && Array.isArray(output.content);
}

function textOf(result: CallToolResult): string {
  return (result.content ?? []).flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}
