import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { headerFaults, isForbiddenHeader } from './forbidden-headers.js';

describe('headerFaults', () => {
  it('accepts credentials and routing headers', () => {
    const headers = { Authorization: 'Bearer x', Cookie: 'a=b', 'X-Api-Key': 'k', 'x-tenant': 'ümläut', empty: '' };
    expect(headerFaults(headers)).toEqual([]);
  });

  it.each([
    'Connection',
    'keep-alive',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'Proxy-Authorization',
    'Content-Length',
    'Host',
    'Expect',
    'Content-Type',
    'Accept',
    'Mcp-Session-Id',
    'MCP-Protocol-Version',
    'Mcp-Param-Region',
    'X-Signalbox-Principal',
  ])('rejects %s', (name) => {
    expect(headerFaults({ [name]: 'value' })).toEqual([{ name, message: expect.stringContaining('cannot be stored') }]);
  });

  it.each(['', 'a b', 'a:b', 'a\r\nb', 'ä', '(x)'])('rejects the name %j', (name) => {
    expect(headerFaults({ [name]: 'value' })).toHaveLength(1);
  });

  it.each(['a\r\nX-Injected: 1', 'a\nb', 'a\0b', '\u{7f}', '日本', 'a\u{100}'])(
    'rejects the value %j without repeating it',
    (value) => {
      const [fault] = headerFaults({ 'x-key': value });
      expect(fault?.name).toBe('x-key');
      expect(fault?.message).not.toContain(value);
    },
  );

  it('rejects one header in two spellings', () => {
    expect(headerFaults({ 'X-Key': '1', 'x-key': '2' })).toEqual([
      { name: 'x-key', message: expect.stringContaining('duplicated') },
    ]);
  });

  it('limits the number of headers and their size', () => {
    const many = Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`x-${index}`, 'v']));
    expect(headerFaults(many)).toEqual([]);
    expect(headerFaults({ ...many, 'x-64': 'v' })).toEqual([{ name: null, message: expect.stringContaining('64') }]);
    expect(headerFaults({ 'x-big': 'v'.repeat(16 * 1024 - 5) })).toEqual([]);
    expect(headerFaults({ 'x-big': 'v'.repeat(16 * 1024) })).toHaveLength(1);
  });

  it('accepts nothing that the Fetch standard rejects', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 8 }),
        fc.string({ unit: 'binary', maxLength: 8 }),
        (name, value) => {
          fc.pre(name !== '__proto__');
          if (headerFaults({ [name]: value }).length > 0) return;
          expect(isForbiddenHeader(name)).toBe(false);
          expect(() => new Headers({ [name]: value })).not.toThrow();
        },
      ),
    );
  });
});
