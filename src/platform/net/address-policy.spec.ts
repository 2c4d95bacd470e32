import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { AddressPolicy, AddressRefusedError, parseAllowList, listsHost, normalizeHost } from './address-policy.js';

const strict = new AddressPolicy({ allowPrivate: false, allow: [] });
const open = new AddressPolicy({ allowPrivate: true, allow: [] });

function allowing(...entries: string[]): AddressPolicy {
  return new AddressPolicy({ allowPrivate: false, allow: parseAllowList(entries) });
}

function accepts(policy: AddressPolicy, host: string): boolean {
  try {
    policy.checkUrl(`http://${host}/mcp`);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(AddressRefusedError);
    return false;
  }
}

const PUBLIC = [
  '8.8.8.8',
  '1.1.1.1',
  '172.32.0.1',
  '100.128.0.1',
  'example.com',
  'notlocalhost',
  'localhost.example.com',
];
const PUBLIC_6 = ['[2606:4700::1111]', '[::ffff:8.8.8.8]', '[64:ff9b::8.8.8.8]'];

const REFUSED_BY_DEFAULT: readonly [host: string, range: string][] = [
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['10.0.0.1', 'private'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.168.1.1', 'private'],
  ['169.254.0.1', 'link-local'],
  ['169.254.169.254', 'metadata'],
  ['100.100.100.200', 'metadata'],
  ['168.63.129.16', 'metadata'],
  ['100.64.0.1', 'carrier-grade NAT'],
  ['192.0.2.1', 'reserved'],
  ['198.51.100.7', 'reserved'],
  ['203.0.113.9', 'reserved'],
  ['198.18.0.1', 'reserved'],
  ['240.0.0.1', 'reserved'],
  // Other spellings of 127.0.0.1 that the URL parser resolves.
  ['2130706433', 'loopback'],
  ['0x7f000001', 'loopback'],
  ['0177.0.0.1', 'loopback'],
  ['127.1', 'loopback'],
  ['0x7f.1', 'loopback'],
  ['127.0.0.1.', 'loopback'],
  ['%31%32%37.0.0.1', 'loopback'],
  ['１２７.０.０.１', 'loopback'],
  ['localhost', 'loopback'],
  ['LOCALHOST.', 'loopback'],
  ['api.localhost', 'loopback'],
  ['[::1]', 'loopback'],
  ['[::ffff:127.0.0.1]', 'loopback'],
  ['[::ffff:7f00:1]', 'loopback'],
  ['[::127.0.0.1]', 'loopback'],
  ['[::ffff:0:10.0.0.1]', 'private'],
  ['[64:ff9b::169.254.169.254]', 'metadata'],
  ['[64:ff9b:1::1]', 'reserved'],
  ['[2002:a9fe:a9fe::]', 'metadata'],
  ['[2002:808:808::1]', 'reserved'],
  ['[2001:0:4136:e378:8000:63bf:3fff:fdd2]', 'reserved'],
  ['[fe80::1]', 'link-local'],
  ['[fd00::1]', 'private'],
  ['[fd00:ec2::254]', 'metadata'],
  ['[fec0::1]', 'private'],
  ['[2001:db8::1]', 'reserved'],
  ['[100::1]', 'reserved'],
  ['[4000::1]', 'reserved'],
];

const REFUSED_ALWAYS: readonly [host: string, range: string][] = [
  ['0.0.0.0', 'unspecified'],
  ['0', 'unspecified'],
  ['[::]', 'unspecified'],
  ['[::ffff:0.0.0.0]', 'unspecified'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.250', 'multicast'],
  ['[ff02::1]', 'multicast'],
  ['[64:ff9b::224.0.0.1]', 'multicast'],
  ['255.255.255.255', 'broadcast'],
];

describe('AddressPolicy', () => {
  it.each([...PUBLIC, ...PUBLIC_6])('accepts %s', (host) => {
    expect(accepts(strict, host)).toBe(true);
  });

  it.each(REFUSED_BY_DEFAULT)('rejects %s (%s) unless private addresses are allowed', (host, range) => {
    expect(() => strict.checkUrl(`https://${host}/mcp`)).toThrow(new RegExp(`is an? ${range} address`));
    expect(accepts(open, host)).toBe(true);
  });

  it.each(REFUSED_ALWAYS)('always rejects %s (%s)', (host, range) => {
    expect(() => open.checkUrl(`http://${host}/`)).toThrow(new RegExp(`is an? ${range} address`));
    expect(accepts(allowing('0.0.0.0/0', '::/0', host), host)).toBe(false);
  });

  it.each([
    ['ftp://example.com/', 'http://'],
    ['file:///etc/passwd', 'http://'],
    ['javascript:alert(1)', 'http://'],
    ['http://user:secret@example.com/', 'credentials'],
    ['http://user@example.com/', 'credentials'],
    ['http://example.com/#top', 'fragment'],
    ['http://example.com/#', 'fragment'],
    ['example.com/mcp', 'not valid'],
    ['http://', 'not valid'],
    ['http://256.0.0.1/', 'not valid'],
  ])('rejects the URL %s', (url, word) => {
    expect(() => open.checkUrl(url)).toThrow(AddressRefusedError);
    expect(() => open.checkUrl(url)).toThrow(word);
  });

  it('does not repeat the credentials of a rejected URL', () => {
    expect(() => strict.checkUrl('http://user:hunter2@example.com/')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    );
  });

  it('compares the port of an allowed host with the port of the URL, including default ports', () => {
    const policy = allowing('localhost:8080', '10.0.0.1:443', 'Intranet.Example.:80');
    expect(() => policy.checkUrl('http://localhost:8080/')).not.toThrow();
    expect(() => policy.checkUrl('http://localhost:8081/')).toThrow(AddressRefusedError);
    expect(() => policy.checkUrl('https://10.0.0.1/')).not.toThrow();
    expect(() => policy.checkUrl('http://10.0.0.1/')).toThrow(AddressRefusedError);
    expect(() => policy.checkResolved('intranet.example', 80, ['10.0.0.9'])).not.toThrow();
    expect(() => policy.checkResolved('intranet.example', 81, ['10.0.0.9'])).toThrow(AddressRefusedError);
  });

  it('also compares a CIDR with the IPv4 address inside an IPv6 address', () => {
    const policy = allowing('10.0.0.0/8', 'fd00:1::/32');
    expect(accepts(policy, '10.200.0.1')).toBe(true);
    expect(accepts(policy, '[::ffff:10.200.0.1]')).toBe(true);
    expect(accepts(policy, '[fd00:1::7]')).toBe(true);
    expect(accepts(policy, '192.168.0.1')).toBe(false);
    expect(accepts(policy, '[fd00:2::7]')).toBe(false);
  });

  it('rejects a name when any of its addresses is rejected, without revealing that address', () => {
    expect(() => strict.checkResolved('example.com', 443, ['93.184.216.34', '2606:4700::1111'])).not.toThrow();
    expect(() => strict.checkResolved('example.com', 443, ['93.184.216.34', '10.1.2.3'])).toThrow(
      'The host example.com resolves to a private address. The operator of the service can allow it with ' +
        'UPSTREAM_ALLOW.',
    );
    expect(() => strict.checkResolved('example.com', 443, ['fe80::1%eth0'])).toThrow('link-local');
  });

  it('is at least as strict with an IPv6 form as with the IPv4 address inside it', () => {
    const octet = fc.nat({ max: 255 });
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), (octets) => {
        const ip = octets.join('.');
        const [a, b, c, d] = octets.map((value) => value.toString(16).padStart(2, '0'));
        fc.pre(!accepts(strict, ip));
        for (const form of [
          `::ffff:${ip}`,
          `::${ip}`,
          `::ffff:0:${ip}`,
          `64:ff9b::${ip}`,
          `2002:${a}${b}:${c}${d}::1`,
        ]) {
          expect(accepts(strict, `[${form}]`)).toBe(false);
        }
      }),
      { numRuns: 200 },
    );
  });
});

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
