import { describe, expect, it } from '@jest/globals';
import { isAppOnly, pagesOf, withPages } from './app-tool.js';

const rename = (uri: string): string => `${uri}?renamed`;

describe('the page of a tool', () => {
  it('is named in one place or two', () => {
    const tool = {
      _meta: { ui: { resourceUri: 'ui://a', visibility: ['app'] }, 'ui/resourceUri': 'ui://b', other: 1 },
    };
    expect(pagesOf(tool)).toEqual(['ui://a', 'ui://b']);
    expect(withPages(tool, rename)._meta).toEqual({
      ui: { resourceUri: 'ui://a?renamed', visibility: ['app'] },
      'ui/resourceUri': 'ui://b?renamed',
      other: 1,
    });
  });

  it.each(['docs://readme', 'UI://a', '', 1, null, undefined])('is not %j, which stays as it is', (uri) => {
    const tool = { _meta: { ui: { resourceUri: uri }, 'ui/resourceUri': uri } };
    expect(pagesOf(tool)).toEqual([]);
    expect(withPages(tool, rename)).toEqual(tool);
  });
});

it('a tool is for apps alone if it names whom it is for, and models are not among them', () => {
  const isFor = (visibility: unknown): boolean => isAppOnly({ _meta: { ui: { visibility } } });
  expect([['app'], []].map(isFor)).toEqual([true, true]);
  expect([['app', 'model'], 'app', undefined].map(isFor)).toEqual([false, false, false]);
  expect(isAppOnly({})).toBe(false);
});
