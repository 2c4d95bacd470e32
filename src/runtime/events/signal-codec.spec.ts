import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { decodeSignal, encodeBatch, joinFrames, splitFrames, topicHash } from './signal-codec.js';

/** The preceding run: unspecified, none, or an id. */
const PREVIOUS = fc.option(fc.option(fc.uuid(), { nil: null }), { nil: undefined });

describe('signal codec', () => {
  it('carries any JSON text unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.nat(), fc.boolean(), PREVIOUS, (values, first, end, follows) => {
        const batch = {
          runId: 'run',
          epoch: 'e1',
          first,
          frames: values.map((value) => JSON.stringify(value, undefined, 1)),
          end,
        };
        const decoded = decodeSignal(encodeBatch(batch, joinFrames(batch.frames), follows));
        expect(decoded).toEqual({ type: 'batch', ...batch, ...(follows === undefined ? {} : { follows }) });
        expect(splitFrames(joinFrames(batch.frames))).toEqual(batch.frames);
      }),
    );
  });

  it('decodes a run id alone as a hint', () => {
    expect(decodeSignal('0199a000-0000-7000-8000-000000000001')).toEqual({
      type: 'hint',
      runId: '0199a000-0000-7000-8000-000000000001',
    });
  });

  it('gives each topic a distinct name of 32 hexadecimal digits', () => {
    const names = [
      topicHash({ organizationId: 'a', threadId: 'b' }),
      topicHash({ organizationId: 'a', threadId: 'c' }),
      topicHash({ organizationId: 'b', threadId: 'b' }),
    ];
    expect(new Set(names).size).toBe(3);
    expect(names[0]).toMatch(/^[0-9a-f]{32}$/);
  });
});
