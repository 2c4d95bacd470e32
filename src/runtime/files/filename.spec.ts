import { describe, expect, it } from '@jest/globals';
import { safeFilename } from './filename.js';

describe('safeFilename', () => {
  it.each([
    ['photo.png', 'photo.png'],
    ['C:\\photos\\photo.png', 'photo.png'],
    ['../../etc/passwd', 'passwd'],
    ['a\r\nb\u0000.png', 'a b .png'],
    ['\u202Egnp.exe', 'gnp.exe'],
    ['half \uD800.png', 'half \uFFFD.png'],
    ['photos/', null],
    ['..', null],
    [' ', null],
    ['', null],
    [undefined, null],
  ])('makes %j %j', (name, safe) => {
    expect(safeFilename(name)).toBe(safe);
  });

  it('keeps the extension of a long name', () => {
    const name = safeFilename(`${'a'.repeat(300)}.jpeg`);
    expect(name).toHaveLength(255);
    expect(name).toMatch(/a\.jpeg$/);
  });
});
