import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { rangeOf, type AddressRange } from './address-range.js';
import { listsAddress, listsHost, normalizeHost, type AllowEntry } from './allow-list.js';

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
