import { describe, expect, it } from '@jest/globals';
import { listsHost, normalizeHost, parseAllowList } from './address-policy.js';

describe('parseAllowList', () => {
  it.each([
    ['example.com', 'example.com', undefined],
    ['Example.COM.', 'example.com', undefined],
    ['example.com:8443', 'example.com', 8443],
    ['example.com:80', 'example.com', 80],
    ['bücher.example', 'xn--bcher-kva.example', undefined],
    ['10.0.0.1:3000', '10.0.0.1', 3000],
    ['127.1', '127.0.0.1', undefined],
    ['::1', '::1', undefined],
    ['[::1]', '::1', undefined],
    ['[FD00::0001]:9000', 'fd00::1', 9000],
  ])('reads %s as a host', (entry, host, port) => {
    expect(parseAllowList([entry])).toEqual([{ kind: 'host', host, port }]);
  });

  it.each(['10.0.0.0/8', '192.168.1.7/32', 'fd00::/8', '::/0'])('reads %s as a CIDR', (entry) => {
    expect(parseAllowList([entry])).toEqual([expect.objectContaining({ kind: 'cidr' })]);
  });

  it.each([
    ['', 'neither a host nor an address'],
    ['*.example.com', 'neither a host nor an address'],
    ['http://example.com', 'not a CIDR'],
    ['example.com:', 'neither a host nor an address'],
    ['example.com:0', 'port outside'],
    ['example.com:65536', 'port outside'],
    ['a b', 'neither a host nor an address'],
    ['user@example.com', 'neither a host nor an address'],
    ['300.1.1.1', 'neither a host nor an address'],
    ['10.0.0.0/33', 'not a CIDR'],
    ['10/8', 'not a CIDR'],
    ['example.com/24', 'not a CIDR'],
    ['10.0.0.1/8', 'write 10.0.0.0/8'],
    ['fd00::1/8', 'write fd00::/8'],
  ])('rejects "%s" with a message that names the variable', (entry, words) => {
    expect(() => parseAllowList(['example.com', entry])).toThrow(/^UPSTREAM_ALLOW contains .*\.$/);
    expect(() => parseAllowList(['example.com', entry])).toThrow(words);
  });

  it('matches a host on its port, or on every port if the entry has none', () => {
    const list = parseAllowList(['a.example:8080', 'b.example']);
    expect(listsHost(list, 'a.example', 8080)).toBe(true);
    expect(listsHost(list, 'a.example', 80)).toBe(false);
    expect(listsHost(list, 'b.example', 1)).toBe(true);
    expect(listsHost(list, 'sub.b.example', 1)).toBe(false);
  });

  it('normalizes hosts', () => {
    expect(normalizeHost('[::1]')).toBe('::1');
    expect(normalizeHost('EXAMPLE.com.')).toBe('example.com');
  });
});
