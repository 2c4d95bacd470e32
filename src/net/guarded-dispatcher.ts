import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { Agent, buildConnector, Pool } from 'undici';
import { portOf, type AddressPolicy } from './address-policy.js';
import { CONNECT_TIMEOUT_MS } from './http-limits.js';

/** Resolves a name to all of its addresses, at least one; rejects as `dns.lookup` does. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

export interface GuardedDispatcherOptions {
  /** Sockets per origin; further requests wait in line. */
  connections?: number;
  /** Milliseconds until a connection, name resolution and TLS handshake included, must stand. */
  connectTimeoutMs?: number;
  resolve?: Resolve;
}

/**
 * The undici dispatcher that every request to an upstream goes through: pooled, and unable to dial an address that the
 * policy refuses. The check sits at the dial, in the lookup whose answer the socket uses, so a name that resolves
 * otherwise a moment later (DNS rebinding) gains nothing. undici follows no redirects by itself; one that a caller
 * follows is a new request and checked like any other. A refused request rejects with `AddressRefusedError`.
 *
 * It speaks HTTP/1.1 alone: with HTTP/2, which undici would offer in the TLS handshake, all callers of an origin would share
 * one socket, and whoever reads slowly would hold back the others.
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
  const dial = buildConnector({ timeout, allowH2: false, lookup: guardedLookup(policy, port, resolve) });
  return (target, callback) => {
    try {
      // A socket never looks up an address literal, so those are checked here.
      policy.checkHost(target.hostname, port);
    } catch (error) {
      callback(toError(error), null);
      return;
    }
    dial(target, callback);
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
  return error instanceof Error ? error : new Error('The address check failed');
}
