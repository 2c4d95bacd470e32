import { describe, expect, it } from '@jest/globals';
import { composedAddress, readAddress } from './resource-addresses.js';

const known = {
  memberIds: new Set(['left', 'right', 'agent']),
  pages: new Map([
    ['ui://shared', new Set(['left', 'right'])],
    ['ui://own', new Set(['left'])],
  ]),
};
const left = (uri: string) => ({ connectionId: 'left', uri });

describe('composedAddress', () => {
  it('keeps the address of one connection alone', () => {
    expect(composedAddress(left('ui://own'), known)).toBe('ui://own');
    expect(composedAddress(left('docs://a'), known, new Map([['docs://a', 1]]))).toBe('docs://a');
    expect(composedAddress(left('docs://a?connection=0123456789abcdef'), known)).toBe(
      'docs://a?connection=0123456789abcdef',
    );
  });

  it('keeps the page of a tool, whatever another connection lists', () => {
    const listings = new Map([['ui://own', 2]]);
    expect(composedAddress(left('ui://own'), known, listings)).toBe('ui://own');
    expect(composedAddress({ connectionId: 'right', uri: 'ui://own' }, known, listings)).toMatch(/\?connection=/);
  });

  it.each(['ui://shared', 'docs://a', 'docs://a?b=c', 'docs://a?connection=0123456789abcdef', 'mailto:a', ''])(
    'contains the connection in the address %j, if another has the same',
    (uri) => {
      const listings = new Map([[uri, 2]]);
      const address = composedAddress(left(uri), known, listings);
      expect(address).not.toBe(composedAddress({ connectionId: 'right', uri }, known, listings));
      expect(readAddress(address, known)).toEqual(left(uri));
      // Whoever has an address that was made so gets another one.
      expect(readAddress(composedAddress(left(address), known), known)).toEqual(left(address));
    },
  );
});

it('readAddress knows only connections of the agent', () => {
  const address = composedAddress(left('ui://shared'), known);
  expect(readAddress(address, { memberIds: new Set(['right']) })).toBeUndefined();
});
