import { describe, expect, it } from '@jest/globals';
import { APICallError } from 'ai';
import { type RetryChunk, withRetries } from './model-stream.js';

function refusal(statusCode: number, responseHeaders: Record<string, string> = {}): APICallError {
  return new APICallError({ message: 'x', url: 'http://x', requestBodyValues: {}, statusCode, responseHeaders });
}

/** Calls with these errors in turn, then succeeds; returns the outcome and what was reported. */
async function attempts(errors: readonly unknown[], hasSubstitute = false) {
  const waiting = [...errors];
  const reports: RetryChunk['data'][] = [];
  let calls = 0;
  const call = async (): Promise<string> => {
    calls++;
    if (waiting.length > 0) throw waiting.shift();
    return 'answer';
  };
  const { signal } = new AbortController();
  const outcome = await withRetries(call, async ({ data }) => void reports.push(data), signal, hasSubstitute).catch(
    (error: unknown) => error,
  );
  return { outcome, reports, calls };
}

describe('a model call that its provider refuses', () => {
  it.each([429, 500, 503, 529])('with %i is repeated after the time that the provider names', async (status) => {
    const { outcome, reports, calls } = await attempts([refusal(status, { 'retry-after-ms': '5' })]);
    expect({ outcome, calls }).toEqual({ outcome: 'answer', calls: 2 });
    const message = expect.stringContaining(`HTTP ${status}`);
    expect(reports).toEqual([{ attempt: 2, max_attempts: 3, delay_ms: 5, code: expect.any(String), message }]);
  });

  it('is made three times at most', async () => {
    const errors = [1, 2, 3].map((n) => refusal(429, { 'retry-after-ms': `${n}` }));
    const { outcome, reports, calls } = await attempts(errors);
    expect({ outcome, calls }).toEqual({ outcome: errors[2], calls: 3 });
    expect(reports.map(({ attempt, delay_ms }) => [attempt, delay_ms])).toEqual([
      [2, 1],
      [3, 2],
    ]);
  });

  it.each(['6', '60', '120', '3600'])('for %s s is left to the next model at once', async (seconds) => {
    const error = refusal(429, { 'retry-after': seconds });
    expect(await attempts([error], true)).toEqual({ outcome: error, reports: [], calls: 1 });
  });

  it.each([refusal(400), refusal(401), refusal(404), new Error('of ours'), 'text'])(
    'for good is not repeated: %s',
    async (error) => {
      expect(await attempts([error])).toEqual({ outcome: error, reports: [], calls: 1 });
    },
  );

  it.each([
    [{ 'retry-after': '3600' }, 2_000],
    [{ 'retry-after': '60' }, 60_000],
    [{ 'retry-after': 'soon' }, 2_000],
    [{ 'retry-after': '-1' }, 2_000],
    [{}, 2_000],
  ])('with the headers %j is announced after a bounded time, and can be aborted', async (headers, delay) => {
    const abort = new AbortController();
    const reports: number[] = [];
    const call = async (): Promise<never> => {
      throw refusal(503, headers as Record<string, string>);
    };
    const outcome = withRetries(
      call,
      async ({ data }) => {
        reports.push(data.delay_ms);
        abort.abort();
      },
      abort.signal,
    );
    await expect(outcome).rejects.toMatchObject({ name: 'AbortError' });
    expect(reports).toEqual([delay]);
  });
});
