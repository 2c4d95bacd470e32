import { describe, expect, it } from '@jest/globals';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { UIMessageChunk } from 'ai';
import type { AgentTool } from '../../agents/agent-toolset.js';
import { AnswerBudget } from '../../core/answers/answer-budget.js';
import { AnswerRooms } from '../../core/answers/answer-room.js';
import type { RunObservation } from '../../platform/telemetry/run-telemetry.js';
import type { PendingToolCall } from './pending-tool-calls.js';
import type { RunAnswer } from './run-answer.js';
import type { RunFiles } from './run-files.js';
import { executeToolCalls, describeToolFailure, isStorageLost } from './execute-tool-calls.js';
import { DomainError } from '../../core/domain-error.js';
import { StorageLostError } from '../../core/retry.js';
import { UpstreamError, type UpstreamErrorKind } from '../../upstreams/contract/upstream-error.js';

const AT_ONCE = 16;
const MEMORY = 1_000_000;
const CALLS: PendingToolCall[] = Array.from({ length: 40 }, (_, n) => ({
  toolCallId: `call-${n}`,
  toolName: 'tool',
  input: { n },
}));

const observation = {
  beginTool: () => ({ traceContext: {}, within: (work: () => unknown) => work(), end: () => undefined }),
} as unknown as RunObservation;

/** Makes the calls of a step. Each call takes room, and is answered by hand. */
function makeCalls(signal = new AbortController().signal) {
  const budget = new AnswerBudget(MEMORY);
  const rooms = new AnswerRooms(budget);
  const open: { n: number; answer: (result: CallToolResult) => void }[] = [];
  const began: number[] = [];
  const chunks: UIMessageChunk[] = [];
  const tool = {
    openRoom: () => rooms.open({ organization: { id: 'acme' }, callerId: 'key' }),
    call: async ({ n }: { n: number }, { room }: { room: { enter: (bytes: number) => Promise<void> } }) => {
      began.push(n);
      await room.enter(1_000);
      return new Promise<CallToolResult>((answer, reject) => {
        open.push({ n, answer });
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
  } as unknown as AgentTool;
  const answer = {
    push: async (chunk: UIMessageChunk) => void chunks.push(chunk),
    saveSoon: () => undefined,
    save: async () => undefined,
  } as unknown as RunAnswer;
  const done = executeToolCalls(answer, CALLS, new Map([['tool', tool]]), {
    signal,
    observation,
    files: {} as RunFiles,
  });
  return { budget, open, began, chunks, done };
}

/** Resolves when everything has been done that waits for nothing outside of this process. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const RESULT: CallToolResult = { content: [{ type: 'text', text: 'done' }] };

describe('the calls of a step', () => {
  it('are made in their order, a bounded number at a time', async () => {
    const { open, began, chunks, done } = makeCalls();
    await settled();
    expect(began).toEqual(CALLS.slice(0, AT_ONCE).map((_, n) => n));
    // A call that is held delays none but itself.
    const held = open.shift();
    while (open.length > 0) {
      open.shift()?.answer(RESULT);
      await settled();
      expect(open.length).toBeLessThan(AT_ONCE);
    }
    expect(began).toEqual(CALLS.map((_, n) => n));
    expect(chunks).toHaveLength(CALLS.length - 1);
    held?.answer(RESULT);
    await done;
    expect(chunks.at(-1)).toMatchObject({ toolCallId: 'call-0', type: 'tool-output-available' });
  });

  it('give back the room for their answers once these are outcomes', async () => {
    const { budget, open, done } = makeCalls();
    await settled();
    expect(budget.heldBytes).toBe(AT_ONCE * 1_000);
    while (open.length > 0) {
      open.shift()?.answer(RESULT);
      await settled();
    }
    await done;
    expect(budget.heldBytes).toBe(0);
  });

  it('are not made any more when the run is stopped', async () => {
    const control = new AbortController();
    const { budget, began, chunks, done } = makeCalls(control.signal);
    await settled();
    control.abort(new Error('stopped'));
    await expect(done).rejects.toThrow('stopped');
    expect(began).toHaveLength(AT_ONCE);
    expect(chunks).toEqual([]);
    expect(budget.heldBytes).toBe(0);
  });
});

const LISTED = { connectionTitle: 'Left', fault: undefined };
const SILENT = { connectionTitle: 'Left', fault: { connectionId: 'c', title: 'Inner', reason: 'It was down.' } };

describe('describeToolFailure', () => {
  it.each<[UpstreamErrorKind, boolean]>([
    ['unreachable', true],
    ['unauthorized', true],
    ['refused_address', true],
    ['session_lost', true],
    ['busy', true],
    ['timeout', false],
    ['protocol', false],
    ['cancelled', false],
  ])('names the connection if it caused the failure: %s', (kind, isNamed) => {
    const sentence = 'The upstream did this.';
    const text = describeToolFailure(new UpstreamError(kind, sentence), LISTED);
    expect(text).toBe(isNamed ? `The connection "Left" is not available right now: ${sentence}` : sentence);
  });

  it('names a connection that was unavailable before the call', () => {
    const text = describeToolFailure(new UpstreamError('timeout', 'No answer.'), SILENT);
    expect(text).toBe('The connection "Inner" is not available right now: No answer.');
  });

  it('quotes a JSON-RPC error, even if the connection was down before', () => {
    const rpc = { code: -32000, message: 'No such city.' };
    const text = describeToolFailure(new UpstreamError('rpc', 'The upstream answered with an error:', { rpc }), SILENT);
    expect(text).toBe('The upstream answered with an error: No such city.');
  });

  it.each([
    ['connection_unavailable', true],
    ['not_found', true],
    ['unknown_tool', false],
    ['invalid_arguments', false],
  ] as const)('describes %s', (code, isNamed) => {
    const text = describeToolFailure(new DomainError(code, 'A sentence.'), LISTED);
    expect(text).toBe(isNamed ? 'The connection "Left" is not available right now: A sentence.' : 'A sentence.');
  });

  it('does not disclose unexpected errors', () => {
    expect(describeToolFailure(new TypeError('secret'), LISTED)).not.toContain('secret');
  });
});

describe('isStorageLost', () => {
  it.each([
    ['true for a lost storage', new StorageLostError('The storage is unavailable.'), true],
    ['true for an error of the audit log', new DomainError('storage_unavailable', 'Please try again.'), true],
    ['true for an error of the driver', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), true],
    ['false for an error of an upstream', new UpstreamError('unreachable', 'Connection terminated.'), false],
    [
      'false for an error of a connection',
      new DomainError('connection_unavailable', 'The connection is inactive.'),
      false,
    ],
  ])('is %s', (_case, error, expected) => {
    expect(isStorageLost(error)).toBe(expected);
  });
});
