import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The address policy refuses a connection to an upstream. The message addresses the caller. It names the host as the
 * caller wrote it and the kind of address, never the address that a name resolved to.
 */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
}

interface AddressPolicyOptions {
  /** Allows private, loopback, link-local and metadata addresses (`UPSTREAM_ALLOW_PRIVATE`). */
  allowPrivate: boolean;
  /** Hosts and networks that are allowed although they are not public (`UPSTREAM_ALLOW`). */
  allow: readonly AllowEntry[];
}

/** No setting allows these: they have no host or, as with 0.0.0.0, reach a host that the URL does not name. */
const ALWAYS_REFUSED: readonly AddressRange[] = ['multicast', 'broadcast', 'unspecified'];

/** Decides which addresses this service can connect to. Pure: performs no I/O. */
export class AddressPolicy {
  constructor(private readonly options: AddressPolicyOptions) {}

  /**
   * Checks a connection's URL without resolving it: `http` or `https`, no credentials, no fragment, and no refused
   * address or `localhost` name as its host. Returns the parsed URL or throws `AddressRefusedError`. The dispatcher
   * checks the resolved addresses when it connects.
   */
  checkUrl(text: string): URL {
    const url = URL.parse(text);
    if (url === null) throw new AddressRefusedError('The URL is not valid.');
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new AddressRefusedError('The URL must start with http:// or https://.');
    }
    if (url.username !== '' || url.password !== '') {
      throw new AddressRefusedError('The URL must not contain credentials. Store them as a token or as headers.');
    }
    // `hash` is empty for a lone `#` too.
    if (url.href.includes('#')) throw new AddressRefusedError('The URL must not contain a fragment.');
    this.checkHost(url.hostname, portOf(url));
    return url;
  }

  /** Checks a host that needs no resolution: an address or a `localhost` name. Any other name passes. */
  checkHost(hostname: string, port: number): void {
    const host = normalizeHost(hostname);
    if (isIP(host) !== 0) {
      const range = this.refusedRange(host, host, port);
      if (range !== undefined) throw refusal(`The host ${host} is`, range);
    } else if (isLocalhost(host) && !this.options.allowPrivate && !listsHost(this.options.allow, host, port)) {
      throw refusal(`The host ${host} is`, 'loopback');
    }
  }

  /**
   * Checks the addresses of a name. Rejects the name if one address is refused, because the socket could choose any of
   * them.
   */
  checkResolved(hostname: string, port: number, addresses: readonly string[]): void {
    const host = normalizeHost(hostname);
    for (const address of addresses) {
      const range = this.refusedRange(address, host, port);
      if (range !== undefined) {
        throw refusal(`The host ${host} resolves to`, range);
      }
    }
  }

  /** The range for which the address is refused, or undefined if it is allowed. */
  private refusedRange(text: string, host: string, port: number): AddressRange | undefined {
    const address = ipaddr.parse(text);
    const range = rangeOf(address);
    if (ALWAYS_REFUSED.includes(range)) return range;
    const reachable =
      range === 'public' ||
      this.options.allowPrivate ||
      listsHost(this.options.allow, host, port) ||
      listsAddress(this.options.allow, address);
    return reachable ? undefined : range;
  }
}

/** The port of a URL, or the default port of its scheme. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** RFC 6761 §6.3: `localhost` and its subdomains are loopback, regardless of DNS. */
function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** @param beginning of the sentence, before the kind of address */
function refusal(beginning: string, range: AddressRange): AddressRefusedError {
  const kind = `${/^[aeiou]/.test(range) ? 'an' : 'a'} ${range} address`;
  const isNeverWanted = range === 'metadata' || ALWAYS_REFUSED.includes(range);
  const remedy = isNeverWanted ? '' : ' The operator of the service can allow it with UPSTREAM_ALLOW.';
  return new AddressRefusedError(`${beginning} ${kind}.${remedy}`);
}

/** The kind of an IP address. All kinds except `public` are refused by default. */
type AddressRange =
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

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

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
function rangeOf(address: IpAddress): AddressRange {
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
function formsOf(address: IpAddress): readonly IpAddress[] {
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

/** One entry of `UPSTREAM_ALLOW`: addresses by CIDR, or a host (name or address) on one port or on every port. */
type AllowEntry =
  { kind: 'cidr'; cidr: [IpAddress, number] } | { kind: 'host'; host: string; port: number | undefined };

const MAX_PORT = 65_535;

/**
 * Parses the entries of `UPSTREAM_ALLOW`: `host`, `host:port`, `10.0.0.0/8`, `[fd00::1]:8080`.
 * @throws Error with a message that names the variable and the entry
 */
export function parseAllowList(entries: readonly string[]): AllowEntry[] {
  return entries.map((entry) => parseEntry(entry.trim()));
}

/** Whether the list contains this host on this port. Expects a host from `normalizeHost`. */
export function listsHost(list: readonly AllowEntry[], host: string, port: number): boolean {
  return list.some(
    (entry) => entry.kind === 'host' && entry.host === host && (entry.port === undefined || entry.port === port),
  );
}

/** Whether a CIDR of the list contains this address or its embedded IPv4 address. */
function listsAddress(list: readonly AllowEntry[], address: IpAddress): boolean {
  const forms = formsOf(address);
  return list.some((entry) => entry.kind === 'cidr' && forms.some((form) => contains(entry.cidr, form)));
}

/** Lower case, no brackets around IPv6, no trailing dot: `EXAMPLE.com.` and `example.com` are one host. */
export function normalizeHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}

function parseEntry(entry: string): AllowEntry {
  if (entry.includes('/')) return { kind: 'cidr', cidr: parseCidr(entry) };
  const { host, port } = splitPort(entry);
  return { kind: 'host', host: parseHost(host, entry), port };
}

function parseCidr(entry: string): [IpAddress, number] {
  const base = entry.slice(0, entry.indexOf('/'));
  if (isIP(base) === 0 || !ipaddr.isValidCIDR(entry)) throw malformed(entry, 'is not a CIDR');
  const [address, bits] = ipaddr.parseCIDR(entry);
  const family = address instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const network = family.networkAddressFromCIDR(entry).toString();
  if (network !== address.toString()) throw malformed(entry, `has host bits set; write ${network}/${bits}`);
  return [address, bits];
}

/**
 * Accepts `host:port`, `[v6]:port`, `[v6]` or a bare host. More than one colon without brackets means an IPv6 address.
 */
function splitPort(entry: string): { host: string; port: number | undefined } {
  const match = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry);
  if (match?.[1] === undefined) return { host: entry, port: undefined };
  const port = Number(match[2]);
  if (port < 1 || port > MAX_PORT) throw malformed(entry, `has a port outside 1 to ${MAX_PORT}`);
  return { host: match[1], port };
}

/** The URL parser normalizes the host as in a connection's URL (punycode, `127.1` as `127.0.0.1`). */
function parseHost(host: string, entry: string): string {
  const authority = isIP(host) === 6 ? `[${host}]` : host;
  const url = /^(\[[\da-f:.]+\]|[^\s/?#@\\:]+)$/i.test(authority) ? URL.parse(`http://${authority}/`) : null;
  if (url === null || url.hostname.includes('*')) throw malformed(entry, 'is neither a host nor an address');
  return normalizeHost(url.hostname);
}

function contains([network, bits]: [IpAddress, number], address: IpAddress): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}

function malformed(entry: string, fault: string): Error {
  return new Error(
    `UPSTREAM_ALLOW contains "${entry}", which ${fault}. Use host, host:port or a CIDR, separated by commas.`,
  );
}
