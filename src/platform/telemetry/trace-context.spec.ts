import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { validTraceContext } from './trace-context.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';
const VALID = `00-${TRACE_ID}-${SPAN_ID}-01`;

describe('validTraceContext', () => {
  it.each([VALID, `00-${TRACE_ID}-${SPAN_ID}-00`, `00-${TRACE_ID}-${SPAN_ID}-ff`, `01-${TRACE_ID}-${SPAN_ID}-01-more`])(
    'keeps %s unchanged',
    (traceparent) => {
      expect(validTraceContext({ traceparent })).toEqual({ traceparent });
    },
  );

  it.each([
    '',
    'rubbish',
    ` ${VALID}`,
    `${VALID}\n`,
    `${VALID}\r\nx-injected: 1`,
    `${VALID}-more`,
    VALID.toUpperCase(),
    `ff-${TRACE_ID}-${SPAN_ID}-01`,
    `00-${'0'.repeat(32)}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
    `00-${TRACE_ID.slice(1)}-${SPAN_ID}-01`,
    `01-${TRACE_ID}-${SPAN_ID}-01-${'x'.repeat(1000)}`,
    `${VALID},${VALID}`,
  ])('drops the invalid traceparent %j and its tracestate', (traceparent) => {
    expect(validTraceContext({ traceparent, tracestate: 'a=1' })).toBeUndefined();
  });

  it.each([
    'congo=t61rcWkgMzE',
    'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
    'a=1 , b=2,\t,c=3',
    'fw529a3039@dt=FfAAAAA;b c',
  ])('keeps the tracestate %j unchanged', (tracestate) => {
    expect(validTraceContext({ traceparent: VALID, tracestate })).toEqual({ traceparent: VALID, tracestate });
  });

  it.each([
    '',
    'novalue',
    'a=',
    'A=1',
    'a=b=c',
    'a=1\r\nx-injected: 1',
    'a=\u00e9',
    `a=${'x'.repeat(257)}`,
    Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(','),
    Array.from({ length: 3 }, (_, index) => `k${index}=${'x'.repeat(200)}`).join(','),
  ])('drops only the invalid tracestate %j', (tracestate) => {
    expect(validTraceContext({ traceparent: VALID, tracestate })).toEqual({ traceparent: VALID });
  });

  it('returns nothing without a traceparent', () => {
    expect(validTraceContext({ tracestate: 'a=1' })).toBeUndefined();
    expect(validTraceContext({})).toBeUndefined();
  });

  it('never returns characters that could end a header', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const context = validTraceContext({ traceparent: VALID, tracestate: `a=${value}` });
        expect(Object.values(context ?? {}).join('')).toMatch(/^[\t\x20-\x7e]*$/);
      }),
    );
  });
});
