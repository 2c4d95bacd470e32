import ipaddr from 'ipaddr.js';

/** The kind of an IP address. All kinds except `public` are refused by default. */
export type AddressRange =
  | 'public'
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'carrier-grade NAT'
  | 'metadata'
  | 'reserved'
  | 'multicast'
  | 'broadcast'
  | 'unspecified';

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** Instance metadata services of the large clouds. Azure's address is in a public range. */
const METADATA_ADDRESSES = ['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254'].map((address) =>
  ipaddr.parse(address),
);

/** Maps the range names of `ipaddr.js`. Ranges that are neither listed nor `unicast` are reserved for special use. */
const RANGES: Readonly<Record<string, AddressRange>> = {
  unicast: 'public',
  loopback: 'loopback',
  private: 'private',
  uniqueLocal: 'private',
  deprecatedSiteLocal: 'private',
  linkLocal: 'link-local',
  carrierGradeNat: 'carrier-grade NAT',
  multicast: 'multicast',
  broadcast: 'broadcast',
  unspecified: 'unspecified',
};

/** IPv6 prefixes that embed an IPv4 address, the index of its first 16-bit group, and whether they can be public. */
const IPV4_EMBEDDINGS: readonly { prefix: [ipaddr.IPv6, number]; group: number; routable: boolean }[] = [
  { prefix: cidr6('::ffff:0:0/96'), group: 6, routable: true }, // IPv4-mapped, RFC 4291
  { prefix: cidr6('64:ff9b::/96'), group: 6, routable: true }, // NAT64, RFC 6052
  { prefix: cidr6('::/96'), group: 6, routable: false }, // IPv4-compatible, deprecated by RFC 4291
  { prefix: cidr6('::ffff:0:0:0/96'), group: 6, routable: false }, // IPv4-translated, RFC 7915
  { prefix: cidr6('2002::/16'), group: 1, routable: false }, // 6to4, deprecated by RFC 7526
];

const GLOBAL_UNICAST = cidr6('2000::/3');

/** The range of an address. An IPv6 form that embeds an IPv4 address is never more permissive than that address. */
export function rangeOf(address: IpAddress): AddressRange {
  if (METADATA_ADDRESSES.some((known) => known.toNormalizedString() === withoutZone(address))) return 'metadata';
  const plain = RANGES[address.range()] ?? 'reserved';
  if (address instanceof ipaddr.IPv4) return plain;
  if (plain === 'loopback' || plain === 'unspecified') return plain; // ::1 and :: also look IPv4-compatible.

  const embedding = embeddingOf(address);
  if (embedding !== undefined) {
    const inner = rangeOf(embeddedIpv4(address, embedding.group));
    return inner === 'public' && !embedding.routable ? 'reserved' : inner;
  }
  return plain === 'public' && !address.match(GLOBAL_UNICAST) ? 'reserved' : plain;
}

/** The address and its embedded IPv4 address, if any. CIDRs of the allow list are compared with both. */
export function formsOf(address: IpAddress): readonly IpAddress[] {
  if (address instanceof ipaddr.IPv4) return [address];
  const embedding = embeddingOf(address);
  return embedding === undefined ? [address] : [address, embeddedIpv4(address, embedding.group)];
}

function embeddingOf(address: ipaddr.IPv6): (typeof IPV4_EMBEDDINGS)[number] | undefined {
  return IPV4_EMBEDDINGS.find(({ prefix }) => address.match(prefix));
}

function embeddedIpv4(address: ipaddr.IPv6, group: number): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(group * 2, group * 2 + 4));
}

/** An IPv6 zone (`%eth0`) selects an interface and says nothing about the range. */
function withoutZone(address: IpAddress): string {
  return address.toNormalizedString().replace(/%.*$/, '');
}

function cidr6(text: string): [ipaddr.IPv6, number] {
  return ipaddr.IPv6.parseCIDR(text);
}
