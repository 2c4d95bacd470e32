import { describe, expect, it } from '@jest/globals';
import { CallDeadline, NO_LIMIT_MS } from '../contract/call-deadline.js';
import { UpstreamMisbehaviour } from '../contract/upstream-error.js';
import type { AnsweringClient } from '../contract/upstream-request.js';
import { completeInRounds, type RoundParams } from './input-rounds.js';

const CAPABILITIES = { elicitation: { form: {} } };
const _meta = { 'io.modelcontextprotocol/clientCapabilities': CAPABILITIES };
const DONE = { content: [] };

/** A client that answers each request with its method. */
const client: AnsweringClient = {
  capabilities: CAPABILITIES,
  answerRequests: async (requests) =>
    Object.fromEntries(Object.entries(requests).map(([key, { method }]) => [key, { to: method }])),
};

/** Gets these results, and returns the last one with what each round added. */
async function roundsOf(results: readonly object[], answering = client) {
  const deadline = new CallDeadline(undefined, NO_LIMIT_MS);
  const rounds: RoundParams[] = [];
  const send = async (added: RoundParams): Promise<object> => results[rounds.push(added) - 1] ?? DONE;
  try {
    return { result: await completeInRounds(send, answering, deadline), rounds };
  } finally {
    deadline.end();
  }
}

const asking = (inputRequests: object | undefined, requestState?: string) => ({
  resultType: 'input_required',
  ...(inputRequests !== undefined && { inputRequests }),
  ...(requestState !== undefined && { requestState }),
});

describe('completeInRounds', () => {
  it('sends a request once if its result is complete, and declares what the client answers', async () => {
    expect(await roundsOf([DONE])).toEqual({ result: DONE, rounds: [{ _meta }] });
  });

  it('repeats it with the answers and the latest state', async () => {
    const results = [
      asking({ a: { method: 'elicitation/create' }, b: { method: 'roots/list', params: {} } }, 'one'),
      asking({ c: { method: 'elicitation/create' } }),
      asking(undefined, 'three'),
      DONE,
    ];
    expect((await roundsOf(results)).rounds).toEqual([
      { _meta },
      { _meta, inputResponses: { a: { to: 'elicitation/create' }, b: { to: 'roots/list' } }, requestState: 'one' },
      { _meta, inputResponses: { c: { to: 'elicitation/create' } } },
      { _meta, requestState: 'three' },
    ]);
  });

  it.each([7, null, {}, { method: 7 }, { method: 'roots/list', params: [] }])(
    'fails if %j is asked for',
    async (request) => {
      await expect(roundsOf([asking({ a: request })])).rejects.toThrow(UpstreamMisbehaviour);
    },
  );

  it('fails with what an answer rejects with', async () => {
    const answerRequests = async (): Promise<never> => {
      throw new TypeError('Nobody is here');
    };
    const failing = roundsOf([asking({ a: { method: 'roots/list' } })], { ...client, answerRequests });
    await expect(failing).rejects.toThrow('Nobody is here');
  });

  it('fails if the upstream sends a state that is too large to keep', async () => {
    const results = [asking({ a: { method: 'roots/list' } }, 'x'.repeat(64 * 1024 + 1))];
    await expect(roundsOf(results)).rejects.toThrow('sent a state of more than');
  });

  it('fails if the upstream never stops asking', async () => {
    const results = Array.from({ length: 50 }, () => asking({ a: { method: 'roots/list' } }));
    await expect(roundsOf(results)).rejects.toThrow('asked for input more than');
  });

  it('stops waiting when the call is stopped', async () => {
    const deadline = new CallDeadline(undefined, NO_LIMIT_MS);
    const never = { ...client, answerRequests: () => new Promise<never>(() => undefined) };
    const waiting = completeInRounds(async () => asking({ a: { method: 'roots/list' } }), never, deadline);
    deadline.cancel();
    await expect(waiting).rejects.toBe('cancelled');
  });
});
