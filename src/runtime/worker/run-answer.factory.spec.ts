import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { UIMessage, UIMessageChunk } from 'ai';
import { ScriptedRunEventStore } from '../../../test/support/scripted-run-event-store.js';
import { RunEvents } from '../events/run-events.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import type { AnswerState } from '../runs/records/run-attempt.js';
import type { RunExecution } from '../runs/records/run-execution.js';
import type { TranscriptService } from '../threads/transcript.service.js';
import { RunAnswerFactory } from './run-answer.factory.js';

const STEP: UIMessage['parts'] = [
  { type: 'step-start' },
  { type: 'text', text: 'I look it up.', state: 'done' },
  {
    type: 'dynamic-tool',
    toolCallId: 'call',
    toolName: 'look-up',
    state: 'output-available',
    input: {},
    output: 'found',
  },
];

/** A run whose first attempt has stored a step. */
const run = {
  organizationId: 'o',
  threadId: 't',
  id: 'run',
  messageId: 'answer',
  attempt: 2,
  epoch: 'e2',
  step: 1,
  model: 'model',
  usage: { inputTokens: 11, outputTokens: 7, totalTokens: 18 },
  modelCalls: [],
  previousId: null,
} as unknown as ClaimedRun;

/** Opens the answer of the second attempt while the database gives the stored answer after `delayMs`. */
async function open(delayMs: number) {
  const store = new ScriptedRunEventStore();
  const saved: AnswerState[] = [];
  const execution = {
    async saveAnswer(_claim: unknown, _model: unknown, state: AnswerState) {
      saved.push(state);
      return { cancelRequested: false, hasSteers: false, hasSpendLimit: false };
    },
  } as unknown as RunExecution;
  const transcript = {
    async findAnswer() {
      await jest.advanceTimersByTimeAsync(delayMs);
      return { parts: STEP, metadata: {} };
    },
  } as unknown as TranscriptService;
  const factory = new RunAnswerFactory(new RunEvents(store), execution, transcript);
  const answer = await factory.openAnswer(run, () => undefined);
  await answer.save();
  answer.close();
  const streamed = store.appended.flatMap(({ frames }) => frames.map((frame) => JSON.parse(frame) as UIMessageChunk));
  return { saved, streamed };
}

describe('RunAnswerFactory.openAnswer', () => {
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] }));
  afterEach(() => void jest.useRealTimers());

  it('streams the stored steps if the live buffer has lost all', async () => {
    const { streamed } = await open(0);
    expect(streamed.map(({ type }) => type)).toEqual([
      'start',
      'start-step',
      'text-start',
      'text-delta',
      'text-end',
      'tool-input-available',
      'tool-output-available',
    ]);
  });

  it('stores nothing before the answer has all that an earlier attempt has stored', async () => {
    const { saved } = await open(60_000);
    expect(saved.map(({ parts, step }) => ({ parts, step }))).toEqual([{ parts: STEP, step: 1 }]);
  });
});
