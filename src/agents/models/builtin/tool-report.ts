import type { LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { isObject } from '../../../core/is-record.js';

/** One line about the result of a tool: `<tool> returned: <text>`, or that it failed or was denied. */
export function reportToolResult({ toolName, output }: LanguageModelV4ToolResultPart): string {
  switch (output.type) {
    case 'text':
      return `${toolName} returned: ${output.value}`;
    case 'json':
      return `${toolName} ${isMcpError(output.value) ? 'failed' : 'returned'}: ${textOf(output.value)}`;
    case 'content':
      return `${toolName} returned: ${textOf({ content: output.value })}`;
    case 'error-text':
      return `${toolName} failed: ${output.value}`;
    case 'error-json':
      return `${toolName} failed: ${textOf(output.value)}`;
    case 'execution-denied':
      return output.reason ? `${toolName} was denied: ${output.reason}` : `${toolName} was denied.`;
  }
}

/** The text blocks of an MCP tool result, one per line; for any other result, or one without text, its JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const blocks = isObject(value) && Array.isArray(value.content) ? value.content : [];
  const texts = blocks.filter((block) => isObject(block) && typeof block.text === 'string').map((block) => block.text);
  return texts.length > 0 ? texts.join('\n') : JSON.stringify(value);
}

function isMcpError(value: unknown): boolean {
  return isObject(value) && value.isError === true && Array.isArray(value.content);
}
