import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { reportToolResult } from './tool-report.js';
import { countWords } from './words.js';

type Part = Exclude<LanguageModelV4Message, { role: 'system' }>['content'][number];

/** The text of the last user message. */
export function lastRequest(prompt: LanguageModelV4Prompt): string {
  const message = prompt.findLast(({ role }) => role === 'user');
  return message ? partsOf(message).map(textOf).join('\n') : '';
}

/** The results of the tools that were called since the last user message, in order. */
export function resultsSince(prompt: LanguageModelV4Prompt): LanguageModelV4ToolResultPart[] {
  const request = prompt.findLastIndex(({ role }) => role === 'user');
  return prompt
    .slice(request + 1)
    .flatMap(partsOf)
    .filter((part) => part.type === 'tool-result');
}

export function countToolCalls(prompt: LanguageModelV4Prompt): number {
  return prompt.flatMap(partsOf).filter((part) => part.type === 'tool-call').length;
}

export function countPromptWords(prompt: LanguageModelV4Prompt): number {
  let words = 0;
  for (const message of prompt) {
    if (message.role === 'system') words += countWords(message.content);
    for (const part of partsOf(message)) words += countWords(textOf(part));
  }
  return words;
}

function partsOf(message: LanguageModelV4Message): Part[] {
  return message.role === 'system' ? [] : message.content;
}

function textOf(part: Part): string {
  if (part.type === 'tool-result') return reportToolResult(part);
  if (part.type === 'file') return `[${part.filename ?? 'file'}, ${part.mediaType}]`;
  return part.type === 'text' ? part.text : '';
}
