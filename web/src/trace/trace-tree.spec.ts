import { describe, expect, it } from '@jest/globals';
import type { ModelCall, Span } from './span.js';
import { treeOf } from './trace-tree.js';

function span(kind: Span['kind'], start: number, step?: number, error: string | null = null): Span {
  const call = { step, error_code: error } as ModelCall;
  const place = { id: `${kind} ${start}`, label: kind, start, end: start + 5, isOpen: false };
  return { ...place, kind, ...(step !== undefined && { modelCall: call }) };
}

const namesOf = (spans: readonly Span[]) =>
  treeOf(spans).map((node) =>
    'span' in node ? node.span.id : [node.step.number, ...node.step.spans.map(({ id }) => id)],
  );

describe('the steps of a run', () => {
  it('begin with a model call, and have what the model asked for', () => {
    const spans = [span('queue', 0), span('model', 5, 1), span('tool', 10), span('approval', 15), span('model', 20, 2)];
    expect(namesOf(spans)).toEqual(['queue 0', [1, 'model 5', 'tool 10', 'approval 15'], [2, 'model 20']]);
  });

  it('have the fallbacks and the repetitions of their call', () => {
    const spans = [
      span('model', 0, 1, 'provider_unavailable'),
      span('model', 5, 1),
      span('queue', 10),
      span('tool', 15),
    ];
    expect(namesOf(spans)).toEqual([[1, 'model 0', 'model 5', 'queue 10', 'tool 15']]);
  });

  it('keep a call that the clock of another worker puts later', () => {
    expect(namesOf([span('model', 0, 1), span('model', 5, 2), span('model', 6, 1)])).toEqual([
      [1, 'model 0', 'model 6'],
      [2, 'model 5'],
    ]);
  });

  it('place the call that has not ended: in the next step, or in that of a call that failed', () => {
    expect(namesOf([span('model', 0, 1), span('tool', 5), span('model', 10)]).at(-1)).toEqual([2, 'model 10']);
    expect(namesOf([span('model', 0, 1, 'provider_timeout'), span('model', 10)])).toEqual([[1, 'model 0', 'model 10']]);
  });

  it('last from their first stretch to their last', () => {
    const [node] = treeOf([span('model', 0, 1), { ...span('tool', 5), end: 90, isOpen: true }]);
    expect(node).toMatchObject({ step: { start: 0, end: 90, isOpen: true } });
  });
});
