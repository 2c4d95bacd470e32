import { describe, expect, it } from '@jest/globals';
import { readSearch, writeSearch } from './address.js';

describe('the filters in an address', () => {
  it('are plain words', () => {
    expect(writeSearch({ status: 'failed', q: 'late order', key: '1', on: 'true', none: undefined })).toBe(
      '?status=failed&q=late+order&key=1&on=true',
    );
    expect(writeSearch({ from: '2026-11-27T08:00:00Z', person: 'ada@example.com' })).toBe(
      '?from=2026-11-27T08:00:00Z&person=ada@example.com',
    );
    expect(writeSearch({})).toBe('');
  });

  it.each(['a=b&c', '50 %', '+', '“ü”', '{"a":[1]}', '#x?y', '%3A'])('hold the text %s', (text) => {
    const written = writeSearch({ q: text, r: 'next' });
    expect(readSearch(new URL(written, 'http://console.test/').search)).toEqual({ q: text, r: 'next' });
  });

  it('are read from bookmarks of before, too', () => {
    expect(readSearch('?create=%221%22&q=%22late+order%22')).toEqual({ create: '1', q: '"late order"' });
  });

  it('are texts, whatever they look like', () => {
    expect(readSearch('?a=1&b=true&c=null&d=%5B1%5D')).toEqual({ a: '1', b: 'true', c: 'null', d: '[1]' });
  });
});
