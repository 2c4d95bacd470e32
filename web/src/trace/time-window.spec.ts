import { describe, expect, it } from '@jest/globals';
import { changedWindow, formatWindow, parseWindow, windowIn } from './time-window.js';

const LENGTH = 1_000;

describe('the part of the time of a run that is shown', () => {
  it('is in the address', () => {
    expect(parseWindow(formatWindow({ from: 120, to: 400 }), LENGTH)).toEqual({ from: 120, to: 400 });
  });

  it.each([undefined, '', '5', '400-120', '5-5', '-5-10', 'a-b', '1-2-3', '0-1000', '0-99999999999'])(
    'is the whole run for the address %j',
    (text) => {
      expect(parseWindow(text, LENGTH)).toBeUndefined();
    },
  );

  it('lies within the run, whatever the address says', () => {
    expect(parseWindow('900-5000', LENGTH)).toEqual({ from: 900, to: 1_000 });
    expect(parseWindow('4000-5000', LENGTH)).toEqual({ from: 999, to: 1_000 });
  });

  it('halves around its middle, and doubles again', () => {
    const half = changedWindow(undefined, LENGTH, 'in');
    expect(half).toEqual({ from: 250, to: 750 });
    expect(changedWindow(half, LENGTH, 'in')).toEqual({ from: 375, to: 625 });
    expect(changedWindow(half, LENGTH, 'out')).toBeUndefined();
    expect(changedWindow({ from: 0, to: 100 }, LENGTH, 'out')).toEqual({ from: 0, to: 150 });
  });

  it('moves by half of it, and not beyond the run', () => {
    expect(changedWindow({ from: 200, to: 400 }, LENGTH, 'later')).toEqual({ from: 300, to: 500 });
    expect(changedWindow({ from: 50, to: 250 }, LENGTH, 'earlier')).toEqual({ from: 0, to: 200 });
    expect(changedWindow({ from: 750, to: 950 }, LENGTH, 'later')).toEqual({ from: 800, to: 1_000 });
  });

  it('is never shorter than a millisecond', () => {
    expect(windowIn({ from: 10, to: 10 }, LENGTH)).toEqual({ from: 10, to: 11 });
    expect(windowIn({ from: 0, to: 0.5 }, 1)).toBeUndefined();
  });
});
