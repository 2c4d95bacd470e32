import { isIPv6 } from 'node:net';

/**
 * The network of one customer: an IPv4 address, also in its IPv6-mapped form, or the first 64 bits of an IPv6 address,
 * whose other bits a customer chooses. Limits for callers without a credential count by network.
 * @param source the IP address of a caller
 */
export function networkOf(source: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(source)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(source)) return source;
  const [head = '', tail] = source.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => '0');
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':').toLowerCase();
}
