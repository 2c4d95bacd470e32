import { describe, expect, it } from '@jest/globals';
import { scaleOf } from './time-scale.js';
import type { Span } from './span.js';

const ORIGIN = 1_700_000_000_000;

function span(kind: Span['kind'], start: number, end: number): Span {
  return { id: `${kind} ${start}`, kind, label: kind, start: ORIGIN + start, end: ORIGIN + end, isOpen: false };
}

/** Half a second of work around an approval that took 80 s. */
const WAITING = [span('model', 0, 300), span('approval', 300, 80_300), span('tool', 80_300, 80_500)];

describe('the axis of a run', () => {
  it('gives time its share', () => {
    const { at } = scaleOf([span('model', 0, 600), span('tool', 600, 1_000)]);
    expect([0, 600, 1_000].map((time) => at(ORIGIN + time))).toEqual([0, 60, 100]);
  });

  it('shortens a long wait, so that it does not hide the work', () => {
    const { at, segments } = scaleOf(WAITING);
    expect(segments.map(({ isShortened }) => isShortened)).toEqual([false, true, false]);
    expect(at(ORIGIN + 300)).toBeGreaterThan(50);
    expect(at(ORIGIN + 80_300) - at(ORIGIN + 300)).toBeLessThan(10);
    expect(at(ORIGIN + 80_500)).toBeCloseTo(100);
  });

  it('shows waits at full length if asked to', () => {
    const { at, segments } = scaleOf(WAITING, { areWaitsShortened: false });
    expect(segments).toHaveLength(1);
    expect(at(ORIGIN + 300)).toBeLessThan(1);
  });

  it('does not shorten time in which a tool works while somebody is asked', () => {
    const { segments } = scaleOf([span('model', 0, 100), span('approval', 100, 60_000), span('tool', 100, 60_000)]);
    expect(segments.every(({ isShortened }) => !isShortened)).toBe(true);
  });

  it('finds the moment of each place, also in a shortened wait', () => {
    const { at, timeAt } = scaleOf(WAITING);
    for (const time of [0, 150, 300, 40_000, 80_300, 80_400]) {
      expect(timeAt(at(ORIGIN + time))).toBeCloseTo(ORIGIN + time, 0);
    }
    expect(timeAt(-5)).toBe(ORIGIN);
    expect(timeAt(105)).toBe(ORIGIN + 80_500);
  });

  it('shows a part of the run, with times from the start of the run', () => {
    const { at, shows, ticks, origin, length } = scaleOf(WAITING, { window: { from: 100, to: 300 } });
    expect([origin, length]).toEqual([ORIGIN, 80_500]);
    expect([0, 100, 200, 300, 80_400].map((time) => at(ORIGIN + time))).toEqual([0, 0, 50, 100, 100]);
    expect(shows(ORIGIN, ORIGIN + 150)).toBe(true);
    expect(shows(ORIGIN + 80_300, ORIGIN + 80_500)).toBe(false);
    expect(Math.min(...ticks)).toBe(ORIGIN + 100);
    expect(Math.max(...ticks)).toBeLessThanOrEqual(ORIGIN + 300);
  });

  it('shows a wait that somebody looks at', () => {
    const { at, segments } = scaleOf(WAITING, { window: { from: 1_000, to: 2_000 } });
    expect(segments).toMatchObject([{ isShortened: false }]);
    expect(at(ORIGIN + 1_500)).toBe(50);
  });

  it('names few round times', () => {
    const { ticks } = scaleOf([span('model', 0, 930)]);
    expect(ticks.map((tick) => tick - ORIGIN)).toEqual([0, 200, 400, 600, 800]);
  });

  it('has a length although nothing took any time', () => {
    expect(scaleOf([span('queue', 0, 0)]).length).toBe(1);
  });
});
