import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { AddressRefusedError } from './address-refused-error.js';
import { rangeOf, type AddressRange } from './address-range.js';
import { listsAddress, listsHost, normalizeHost, type AllowEntry } from './allow-list.js';

export interface AddressPolicyOptions {
  /** Reach private, loopback, link-local and metadata addresses (`UPSTREAM_ALLOW_PRIVATE`). */
  allowPrivate: boolean;
  /** Hosts and networks that are reachable although they are not public (`UPSTREAM_ALLOW`). */
  allow: readonly AllowEntry[];
}

/** No setting opens these: nothing answers there, or, as with 0.0.0.0, something answers that nobody named. */
const NEVER: readonly AddressRange[] = ['multicast', 'broadcast', 'unspecified'];

/** Decides which addresses this service may reach. Pure: it resolves nothing and dials nothing. */
export class AddressPolicy {
  constructor(private readonly options: AddressPolicyOptions) {}

  /**
   * Checks what a connection's URL says by itself: `http` or `https`, no credentials, no fragment, and no refused address
   * or `localhost` name as its host. Returns the parsed URL, throws `AddressRefusedError`. Whatever a name resolves to is
   * checked when it is dialed.
   */
  checkUrl(text: string): URL {
    const url = URL.parse(text);
    if (url === null) throw new AddressRefusedError('The URL is not valid.');
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new AddressRefusedError('The URL must begin with http:// or https://.');
    }
    if (url.username !== '' || url.password !== '') {
      throw new AddressRefusedError('The URL must not hold credentials; store them as a token or as headers.');
    }
    // `hash` is empty for a lone `#` too.
    if (url.href.includes('#')) throw new AddressRefusedError('The URL must not hold a fragment.');
    this.checkHost(url.hostname, portOf(url));
    return url;
  }

  /** Checks a host that needs no resolution, an address or a `localhost` name; any other name passes. */
  checkHost(hostname: string, port: number): void {
    const host = normalizeHost(hostname);
    if (isIP(host) !== 0) {
      const range = this.refusedRange(host, host, port);
      if (range !== undefined) throw new AddressRefusedError(`The host ${host} is ${aRange(range)} address.`);
    } else if (isLocalhost(host) && !this.options.allowPrivate && !listsHost(this.options.allow, host, port)) {
      throw new AddressRefusedError(`The host ${host} is ${aRange('loopback')} address.`);
    }
  }

  /** Checks what a name resolved to. One refused address refuses them all: which one would be dialed is not ours to choose. */
  checkResolved(hostname: string, port: number, addresses: readonly string[]): void {
    const host = normalizeHost(hostname);
    for (const address of addresses) {
      const range = this.refusedRange(address, host, port);
      if (range !== undefined) throw new AddressRefusedError(`The host ${host} resolves to ${aRange(range)} address.`);
    }
  }

  /** The range for which the address is refused, or undefined when it may be reached. */
  private refusedRange(text: string, host: string, port: number): AddressRange | undefined {
    const address = ipaddr.parse(text);
    const range = rangeOf(address);
    if (NEVER.includes(range)) return range;
    const reachable =
      range === 'public' ||
      this.options.allowPrivate ||
      listsHost(this.options.allow, host, port) ||
      listsAddress(this.options.allow, address);
    return reachable ? undefined : range;
  }
}

/** The port of a URL, also when it is the default of its scheme. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** RFC 6761 §6.3: `localhost` and every name below it are loopback, whatever a resolver says. */
function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

function aRange(range: AddressRange): string {
  return `${/^[aeiou]/.test(range) ? 'an' : 'a'} ${range}`;
}
