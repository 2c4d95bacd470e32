import { describe, expect, it } from '@jest/globals';
import { generateApiKey, VISIBLE_PREFIX_LENGTH } from './api-key-value.js';
import { holdsCredential, urlWithoutCredentials, withoutCredentials } from './credential-forms.js';

const KEY = generateApiKey();
const TOKEN = `sbt_${'a1B2-c3D4_'.repeat(4)}`;
const percent = (text: string): string =>
  [...text].map((character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');

describe('withoutCredentials', () => {
  it.each([
    ['a key', KEY, '***'],
    ['a browser token', TOKEN, '***'],
    ['several', `a ${KEY} b ${KEY}, ${TOKEN}`, 'a *** b ***, ***'],
    ['one inside a word', `x${KEY}`, 'x***'],
    ['one that was cut', KEY.slice(0, 20), '***'],
  ])('replaces %s', (_what, text, expected) => {
    expect(holdsCredential(text)).toBe(true);
    expect(withoutCredentials(text)).toBe(expected);
    // The expressions keep no position.
    expect(withoutCredentials(text)).toBe(expected);
  });

  it.each(['', 'sbx_', KEY.slice(0, VISIBLE_PREFIX_LENGTH), 'run sbt_compile', KEY.toUpperCase()])(
    'leaves what is no credential: %s',
    (text) => {
      expect(holdsCredential(text)).toBe(false);
      expect(withoutCredentials(text)).toBe(text);
    },
  );
});

describe('urlWithoutCredentials', () => {
  it.each([
    ['as it is', `/mcp/${KEY}`],
    ['with an encoded underscore', `/mcp/${KEY.replace('_', '%5F')}`],
    ['encoded', `/mcp/${percent(KEY)}`],
    ['encoded twice', `/mcp/${percent(percent(KEY))}`],
    ['beside what cannot be decoded', `/mcp/%ff%${percent(KEY)}`],
    ['right after what cannot be decoded', `/mcp/%ff${percent(KEY)}`],
    ['twice encoded, right after what cannot be decoded', `/mcp/%ff${percent(percent(KEY))}`],
  ])('replaces a key %s', (_how, url) => {
    const shown = urlWithoutCredentials(url);
    expect(shown).toContain('***');
    expect(shown).not.toContain(KEY.slice(8, 20));
  });

  it.each(['𢭀', '\r\nx-injected: 1', '", error="none', '\ud800', '\\'])(
    'stays a URL that a header can hold beside %j',
    (text) => {
      const shown = urlWithoutCredentials(`/api/${encodeURIComponent(text.toWellFormed())}/mcp/${KEY}`);
      expect(shown).toMatch(/^\/api\/[^\s"\\]+\/mcp\/\*\*\*$/);
      expect(shown).toMatch(/^[\x21-\x7e]+$/);
    },
  );

  it('leaves other paths as they came', () => {
    for (const url of ['/api/default/mcp/self', '/a%20b', '/%zz']) expect(urlWithoutCredentials(url)).toBe(url);
  });
});
