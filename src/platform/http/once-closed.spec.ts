import { describe, expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { onceClosed } from './once-closed.js';

/** A reply whose socket can be closed. */
function replyOf(raw: PassThrough): FastifyReply {
  return { raw } as unknown as FastifyReply;
}

describe('onceClosed', () => {
  it('calls back once the reply is closed, and at once if it already is', async () => {
    const raw = new PassThrough();
    const { promise, resolve } = Promise.withResolvers<void>();
    onceClosed(replyOf(raw), resolve);
    raw.destroy();
    await promise;
    let calls = 0;
    onceClosed(replyOf(raw), () => calls++);
    expect(calls).toBe(1);
  });

  it('leaves nothing at a reply whose callback is taken back', () => {
    const raw = new PassThrough();
    const before = raw.listenerCount('close');
    onceClosed(replyOf(raw), () => undefined)();
    expect(raw.listenerCount('close')).toBe(before);
  });
});
