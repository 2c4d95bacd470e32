import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { Agent, buildConnector, Pool } from 'undici';
import { portOf, type AddressPolicy } from './address-policy.js';
import { CONNECT_TIMEOUT_MS } from './http-limits.js';

/** Resolves a name to all its addresses, at least one; rejects like `dns.lookup`. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

interface GuardedDispatcherOptions {
  /** Sockets per origin. Further requests are queued. */
  connections?: number;
  /** Time limit in milliseconds for a connection, including name resolution and TLS handshake. */
  connectTimeoutMs?: number;
  resolve?: Resolve;
}

/**
 * The pooled undici dispatcher for every request to an upstream. It never connects to an address that the policy
 * refuses. The check runs in the lookup whose result the socket uses, so DNS rebinding has no effect. undici does not
 * follow redirects; a redirect that a caller follows is a new request with its own check. A refused request rejects
 * with `AddressRefusedError`.
 *
 * It uses only HTTP/1.1. With HTTP/2, which undici would offer in the TLS handshake, all callers of an origin would
 * share one socket, and one slow reader would block the others.
 */
export class GuardedDispatcher extends Agent {
  constructor(policy: AddressPolicy, options: GuardedDispatcherOptions = {}) {
    const { connections = 128, connectTimeoutMs = CONNECT_TIMEOUT_MS, resolve = resolveAll } = options;
    super({
      connections,
      factory: (origin, poolOptions) => {
        const port = portOf(new URL(origin));
        const connect = guardedConnector(policy, port, connectTimeoutMs, resolve);
        return new Pool(origin, { ...poolOptions, connect, allowH2: false });
      },
    });
  }
}

function guardedConnector(
  policy: AddressPolicy,
  port: number,
  timeout: number,
  resolve: Resolve,
): buildConnector.connector {
  const connect = buildConnector({ timeout, allowH2: false, lookup: guardedLookup(policy, port, resolve) });
  return (target, callback) => {
    try {
      // A socket does not look up address literals, so check them here.
      policy.checkHost(target.hostname, port);
    } catch (error) {
      callback(toError(error), null);
      return;
    }
    connect(target, callback);
  };
}

function guardedLookup(policy: AddressPolicy, port: number, resolve: Resolve): LookupFunction {
  const resolveChecked = callbackify(async (hostname: string) => {
    const addresses = await resolve(hostname);
    policy.checkResolved(
      hostname,
      port,
      addresses.map(({ address }) => address),
    );
    return addresses;
  });
  return (hostname, options, callback) => {
    resolveChecked(hostname, (error, addresses) => {
      if (error !== null) callback(error, []);
      else if (options.all === true) callback(null, addresses);
      else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
    });
  };
}

function resolveAll(hostname: string): Promise<LookupAddress[]> {
  return lookup(hostname, { all: true });
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error('The address check failed.');
}
