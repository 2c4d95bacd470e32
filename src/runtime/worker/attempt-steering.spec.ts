import { describe, expect, it } from '@jest/globals';
import { SteeringSignal } from './attempt-steering.js';

describe('a signal of messages', () => {
  it('is pending until the attempt looks for them', () => {
    const signal = new SteeringSignal();
    signal.note('a', false);
    expect([signal.isPending, signal.step.aborted]).toEqual([true, false]);
    signal.clear();
    expect(signal.isPending).toBe(false);
  });

  it('ends the step for one that interrupts, and the next step begins anew', () => {
    const signal = new SteeringSignal();
    signal.note('a', true);
    expect(signal.step.aborted).toBe(true);
    signal.clear();
    expect(signal.step.aborted).toBe(false);
  });

  it('says nothing of one that the attempt has, whenever its notice comes', () => {
    const signal = new SteeringSignal();
    signal.clear();
    signal.note('between', true);
    signal.markTaken('between');
    expect([signal.isPending, signal.step.aborted]).toEqual([false, false]);
    signal.note('between', true);
    expect([signal.isPending, signal.step.aborted]).toEqual([false, false]);
  });

  it('ends no step for one that had come before the attempt', () => {
    const signal = new SteeringSignal(2);
    signal.noteWaiting(2);
    expect([signal.isPending, signal.step.aborted]).toEqual([true, false]);
    signal.noteWaiting(null);
    expect(signal.step.aborted).toBe(false);
    signal.noteWaiting(3);
    expect(signal.step.aborted).toBe(true);
  });
});
