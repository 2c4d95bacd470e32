import { describe, expect, it } from '@jest/globals';
import type { DynamicToolUIPart, UIMessage } from 'ai';
import { chunksAfterStep } from './answer-chunks.js';

const approved = (toolCallId: string): DynamicToolUIPart => ({
  type: 'dynamic-tool',
  toolCallId,
  toolName: 'send',
  input: {},
  state: 'output-available',
  output: 'sent',
  approval: { id: `of ${toolCallId}`, approved: true },
});
const PARTS: UIMessage['parts'] = [
  { type: 'step-start' },
  approved('a'),
  approved('b'),
  { type: 'step-start' },
  { type: 'text', text: 'Done.', state: 'done' },
];

const typesOf = (step: number, lastStep?: number): string[] =>
  chunksAfterStep(PARTS, step, lastStep).map((chunk) =>
    'toolCallId' in chunk ? `${chunk.type} ${chunk.toolCallId}` : chunk.type,
  );

const STEP = [
  'tool-input-available a',
  'tool-input-available b',
  'tool-approval-request a',
  'tool-approval-request b',
  'tool-approval-response',
  'tool-output-available a',
  'tool-approval-response',
  'tool-output-available b',
];
const TEXT = ['text-start', 'text-delta', 'text-end'];

describe('the chunks of a stored answer', () => {
  it('have all requests for approvals of a step before its decisions, and these before the next step', () => {
    expect(typesOf(0)).toEqual(['start-step', ...STEP, 'start-step', ...TEXT]);
  });

  it('have what a tool returned after all that the model has said in the step', () => {
    const call = { ...approved('a'), approval: undefined } as UIMessage['parts'][number];
    const parts: UIMessage['parts'] = [{ type: 'step-start' }, call, { type: 'text', text: 'Wait.', state: 'done' }];
    const types = chunksAfterStep(parts, 0).map(({ type }) => type);
    expect(types).toEqual(['start-step', 'tool-input-available', ...TEXT, 'tool-output-available']);
  });

  it('begin within a step that the reader has, and end after one', () => {
    expect(typesOf(1)).toEqual([...STEP, 'start-step', ...TEXT]);
    expect(typesOf(0, 1)).toEqual(['start-step', ...STEP]);
    expect(typesOf(2)).toEqual(TEXT);
  });
});
