import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { keepAlive } from './keep-alive.js';

const EVENT = Buffer.from('data: {}\n\n');
const COMMENT = ': keep-alive\n\n';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

async function* silentAfter(event: Buffer): AsyncGenerator<Buffer> {
  yield event;
  await new Promise(() => undefined);
}

describe('a stream that is kept alive', () => {
  it('gets a comment in every 15 seconds of silence', async () => {
    const stream = keepAlive(silentAfter(EVENT));
    expect((await stream.next()).value).toEqual(EVENT);
    for (let count = 0; count < 2; count++) {
      let comment: string | undefined;
      void stream.next().then(({ value }) => (comment = String(value)));
      await jest.advanceTimersByTimeAsync(14_999);
      expect(comment).toBeUndefined();
      await jest.advanceTimersByTimeAsync(1);
      expect(comment).toBe(COMMENT);
    }
  });

  it('gets none within an event', async () => {
    const stream = keepAlive(silentAfter(Buffer.from('data: {')));
    await stream.next();
    let hasComment = false;
    void stream.next().then(() => (hasComment = true));
    await jest.advanceTimersByTimeAsync(60_000);
    expect(hasComment).toBe(false);
  });
});
