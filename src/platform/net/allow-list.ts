import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { formsOf, type IpAddress } from './address-range.js';

/** One entry of `UPSTREAM_ALLOW`: addresses by CIDR, or a host (name or address) on one port or on every port. */
export type AllowEntry =
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
export function listsAddress(list: readonly AllowEntry[], address: IpAddress): boolean {
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
