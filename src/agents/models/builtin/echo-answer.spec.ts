import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { reportToolResult } from './echo-answer.js';

describe('reportToolResult', () => {
  it.each<[LanguageModelV4ToolResultOutput, string]>([
    [{ type: 'text', value: 'plain' }, 'look returned: plain'],
    [{ type: 'json', value: { a: [1] } }, 'look returned: {"a":[1]}'],
    [{ type: 'json', value: 'text' }, 'look returned: text'],
    [{ type: 'json', value: null }, 'look returned: null'],
    [
      { type: 'json', value: { content: [{ type: 'text', text: 'a' }, { type: 'image' }, { text: 'b' }] } },
      'look returned: a\nb',
    ],
    [{ type: 'json', value: { content: [], isError: false } }, 'look returned: {"content":[],"isError":false}'],
    [{ type: 'json', value: { content: [{ type: 'text', text: 'no' }], isError: true } }, 'look failed: no'],
    [{ type: 'content', value: [{ type: 'text', text: 'a' }] }, 'look returned: a'],
    [{ type: 'error-text', value: 'broke' }, 'look failed: broke'],
    [{ type: 'error-json', value: { why: 1 } }, 'look failed: {"why":1}'],
    [{ type: 'execution-denied' }, 'look was denied.'],
    [{ type: 'execution-denied', reason: 'no' }, 'look was denied: no'],
  ])('%j', (output, line) => {
    expect(reportToolResult({ type: 'tool-result', toolCallId: 'c', toolName: 'look', output })).toBe(line);
  });
});
