import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { OutputBudget, LineSplitter } from './program-output.js';

/** A pipe that prints whenever it is read, and the time that reading it has taken. */
interface Printing {
  readonly pipe: { pause: () => void; resume: () => void };
  isPaused: boolean;
  readMs: number;
}

describe('OutputBudget', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /**
   * Reads these pipes for a minute, in turn.
   * @param costs the processor time of what each has printed whenever it is read, in milliseconds
   * @returns the time that each took, with the estimated cost of forwarding
   */
  function readForAMinute(costs: readonly number[]): number[] {
    const budget = new OutputBudget(() => Date.now());
    const printing = costs.map((): Printing => {
      const one: Printing = {
        pipe: { pause: () => (one.isPaused = true), resume: () => (one.isPaused = false) },
        isPaused: false,
        readMs: 0,
      };
      return one;
    });
    for (const end = Date.now() + 60_000; Date.now() < end;) {
      printing.forEach((one, index) => {
        if (one.isPaused) return;
        const cost = costs[index] ?? 0;
        one.readMs += 2 * cost;
        jest.advanceTimersByTime(cost);
        budget.spend(cost, 0, one.pipe);
      });
      jest.advanceTimersByTime(1);
    }
    return printing.map(({ readMs }) => readMs);
  }

  it.each([1, 8, 32])('allows a fifth of the time to %i programs that print as fast as they are read', (count) => {
    const total = readForAMinute(Array<number>(count).fill(100)).reduce((sum, readMs) => sum + readMs, 0);
    expect(total).toBeGreaterThan(60_000 * 0.1);
    // Each can print once before its first pause.
    expect(total).toBeLessThan(60_000 * 0.25 + count * 200);
  });

  it('lets a program that prints little print ten times as often as those that print much', () => {
    const [little = 0, much = 0] = readForAMinute([1, ...Array<number>(16).fill(100)]);
    expect(little / 2).toBeGreaterThan(10 * (much / 200));
  });

  it('does not pause a program that prints now and then', () => {
    const budget = new OutputBudget(() => Date.now());
    const pause = jest.fn();
    for (let i = 0; i < 20; i++) {
      budget.spend(100, 200, { pause, resume: pause });
      jest.advanceTimersByTime(60_000);
    }
    expect(pause).not.toHaveBeenCalled();
  });

  it('does not let a program wait for those that have ended', () => {
    const budget = new OutputBudget(() => Date.now());
    const pipe = () => ({ pause: () => undefined, resume: jest.fn() });
    for (let i = 0; i < 20; i++) {
      const ended = pipe();
      budget.spend(1_000, 0, ended);
      budget.close(ended, 0);
    }
    const one = pipe();
    budget.spend(10, 0, one);
    jest.advanceTimersByTime(100);
    expect(one.resume).toHaveBeenCalled();
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
