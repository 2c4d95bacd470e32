import { describe, expect, it } from '@jest/globals';
import { changeOf, pairsOf, toolDifferences } from './run-differences.js';
import type { Span } from '../../trace/span.js';
import type { Step } from '../../trace/trace-tree.js';

function step(number: number, ...calls: [label: string, input: unknown][]): Step {
  const place = { start: number, end: number + 1, isOpen: false };
  const spans = calls.map(([label, input], index) => ({
    id: `${index}`,
    kind: 'tool',
    label,
    ...place,
    part: { input },
  }));
  return { number, ...place, spans: [{ id: 'm', kind: 'model', label: 'Model', ...place }, ...spans] as Span[] };
}

describe('the difference of two numbers', () => {
  it('has a share of the first one', () => {
    expect(changeOf(200, 250)).toEqual({ difference: 50, percent: 25 });
    expect(changeOf(0, 5)).toEqual({ difference: 5, percent: undefined });
  });

  it('is none between equal numbers, and to one that is not known', () => {
    expect([changeOf(3, 3), changeOf(null, 3), changeOf(3, undefined)]).toEqual([undefined, undefined, undefined]);
  });
});

describe('the steps of two runs', () => {
  it('are the same if they called the same with the same arguments', () => {
    const pairs = pairsOf(
      [step(1, ['look', { at: 1 }]), step(2, ['look', { at: 1 }]), step(3)],
      [step(1, ['look', { at: 1 }]), step(2, ['look', { at: 2 }])],
    );
    expect(pairs.map(({ number, a, b, isSame }) => [number, a !== undefined, b !== undefined, isSame])).toEqual([
      [1, true, true, true],
      [2, true, true, false],
      [3, true, false, false],
    ]);
  });

  it('are neither the same nor others while the arguments of a call are not known', () => {
    const [pair] = pairsOf([step(1, ['look', undefined])], [step(1, ['look', { at: 1 }])]);
    expect(pair?.isSame).toBeUndefined();
  });
});

describe('the tools of two calls', () => {
  it('were added, removed, or defined otherwise', () => {
    const tool = (name: string, hash = 'x') => ({ name, description: { hash }, input_schema: { hash: 's' } });
    const a = [tool('look'), tool('move'), tool('stop')];
    const b = [tool('stop'), tool('look', 'y'), tool('wait')];
    expect(toolDifferences(a, b)).toEqual({ added: ['wait'], removed: ['move'], changed: ['look'] });
  });
});
