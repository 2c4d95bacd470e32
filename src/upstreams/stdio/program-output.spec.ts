import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { OutputBudget, LineSplitter } from './program-output.js';

describe('OutputBudget', () => {
  it('allows a short burst, and a fifth of the time in the long run', () => {
    let now = 0;
    const budget = new OutputBudget(() => now);
    let read = 0;
    expect(budget.spend(100, 200)).toBe(0);
    while (now < 60_000) {
      now += 10;
      read += 10;
      now += budget.spend(4, 40);
    }
    expect(read).toBeGreaterThan(60_000 * 0.15);
    expect(read).toBeLessThan(60_000 * 0.25);
    now += 60_000;
    expect(budget.spend(100, 200)).toBe(0);
  });

  it('bounds the bytes of unfinished lines', () => {
    const budget = new OutputBudget();
    expect(budget.hold(64 * 2 ** 20)).toBe(true);
    expect(budget.hold(1)).toBe(false);
    expect(budget.hold(-2)).toBe(true);
  });
});

/** The lines of these chunks; a truncated one ends with `…`. */
function split(chunks: readonly string[], maxBytes = 1_000): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter(maxBytes, (line, isCut) => lines.push(line.toString('utf8') + (isCut ? '…' : '')));
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  return lines;
}

describe('LineSplitter', () => {
  it('ends lines with LF or CR LF, and keeps other CRs', () => {
    expect(split(['one\ntwo\r\n\nfo', 'ur\r', '\nf\rive\n', 'no end'])).toEqual(['one', 'two', '', 'four', 'f\rive']);
  });

  it('finds the same lines however the bytes are chunked', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'ü', '\n', '\r') });
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 50 })), (whole, cuts) => {
        const bytes = Buffer.from(whole);
        const lines: string[] = [];
        const splitter = new LineSplitter(1_000, (line) => lines.push(line.toString('utf8')));
        let from = 0;
        for (const to of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
          splitter.push(bytes.subarray(from, to));
          from = Math.max(from, Math.min(to, bytes.length));
        }
        expect(lines).toEqual(split([whole]));
      }),
    );
  });

  it('truncates a line that is too long, and continues with the next', () => {
    expect(split(['12345\n', '123456\n', '1234', '5678', '9\nend\n'], 5)).toEqual(['12345', '12345…', '12345…', 'end']);
  });
});
