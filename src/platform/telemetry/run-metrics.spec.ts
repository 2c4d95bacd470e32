import { describe, expect, it } from '@jest/globals';
import { generateApiKey } from '../../core/api-key-value.js';
import { BoundedLabel } from './run-metrics.js';

describe('BoundedLabel', () => {
  it('keeps the first values and counts all others together', () => {
    const label = new BoundedLabel(2);
    expect(['a', 'b', 'c', 'd', 'a', 'b'].map((value) => label.of(value))).toEqual([
      'a',
      'b',
      'other',
      'other',
      'a',
      'b',
    ]);
  });

  it('removes credentials and truncates long values', () => {
    const label = new BoundedLabel(2);
    const key = generateApiKey();
    expect(label.of(`model-${key}`)).not.toContain(key);
    expect(label.of('x'.repeat(1000))).toHaveLength(128);
  });
});
