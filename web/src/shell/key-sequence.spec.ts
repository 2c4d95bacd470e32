import { describe, expect, it } from '@jest/globals';
import { KeySequence, type Keys } from './key-sequence.js';

const SHORTCUTS: readonly { readonly keys: Keys }[] = [{ keys: ['g', 't'] }, { keys: ['g', 'g'] }, { keys: ['t'] }];

/** What the keys are, pressed one after another. */
function meaningOf(presses: readonly (readonly [key: string, at: number])[]): readonly (string | undefined)[] {
  const sequence = new KeySequence();
  return presses.map(([key, at]) => sequence.press(key, at, SHORTCUTS)?.keys.join(' '));
}

describe('keys that are pressed one after another', () => {
  it.each([
    ['one key', [['t', 0]], ['t']],
    [
      'two keys',
      [
        ['g', 0],
        ['t', 800],
      ],
      [undefined, 'g t'],
    ],
    [
      'the same key twice',
      [
        ['g', 0],
        ['g', 1],
      ],
      [undefined, 'g g'],
    ],
    [
      'a second key too late',
      [
        ['g', 0],
        ['t', 1_501],
      ],
      [undefined, 't'],
    ],
    [
      'a key that continues nothing',
      [
        ['g', 0],
        ['x', 1],
        ['t', 2],
      ],
      [undefined, undefined, 't'],
    ],
    [
      'a key after a shortcut',
      [
        ['g', 0],
        ['t', 1],
        ['t', 2],
      ],
      [undefined, 'g t', 't'],
    ],
  ] as const)('are understood: %s', (_, presses, meant) => {
    expect(meaningOf(presses)).toEqual(meant);
  });
});
