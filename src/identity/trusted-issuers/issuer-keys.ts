import { Injectable, Logger } from '@nestjs/common';
import {
  createLocalJWKSet,
  errors,
  type CryptoKey,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
} from 'jose';
import { DomainError } from '../../core/domain-error.js';
import { BoundedFetch } from '../../platform/net/bounded-fetch.js';

/** How long keys are used before they are read again. */
const FRESH_MS = 600_000;
/** How long they are used while the issuer cannot be reached. */
const STALE_MS = 3_600_000;
/** The pause between reads, failed ones included, however many tokens with unknown key ids somebody sends. */
const PAUSE_MS = 2_000;

type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

/** The keys of one issuer, as far as they were read. */
class KnownKeys {
  find: FindKey | undefined;
  readAt = -Infinity;
  failedAt = -Infinity;
  reading: Promise<FindKey> | undefined;

  get mayBeRead(): boolean {
    return performance.now() - Math.max(this.readAt, this.failedAt) >= PAUSE_MS;
  }
}

/**
 * The public keys of issuers, found by OpenID Connect Discovery 1.0 and cached. A token with an unknown key id has them
 * read again, so that rotated keys work within seconds.
 */
@Injectable()
export class IssuerKeys {
  private readonly logger = new Logger(IssuerKeys.name);
  private readonly known = new Map<string, KnownKeys>();

  constructor(private readonly http: BoundedFetch) {}

  /**
   * The key that a token of this issuer names.
   * @throws JWKSNoMatchingKey (jose), DomainError `service_unavailable` while the keys cannot be read
   */
  async findKey(issuer: string, header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> {
    const keys = this.known.get(issuer) ?? new KnownKeys();
    this.known.set(issuer, keys);
    const find = await this.current(issuer, keys);
    try {
      return await find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !keys.mayBeRead) throw error;
      return (await this.read(issuer, keys))(header, token);
    }
  }

  private async current(issuer: string, keys: KnownKeys): Promise<FindKey> {
    const now = performance.now();
    if (keys.find !== undefined && now - keys.readAt < FRESH_MS) return keys.find;
    const isUsable = keys.find !== undefined && now - keys.readAt < STALE_MS;
    if (keys.mayBeRead) {
      try {
        return await this.read(issuer, keys);
      } catch (error) {
        if (!isUsable) throw error;
      }
    }
    if (keys.find !== undefined && isUsable) return keys.find;
    throw unreadable();
  }

  /** Concurrent reads share one. */
  private read(issuer: string, keys: KnownKeys): Promise<FindKey> {
    keys.reading ??= this.fetchKeys(issuer)
      .then(
        (find) => {
          Object.assign(keys, { find, readAt: performance.now() });
          return find;
        },
        (error: unknown) => {
          keys.failedAt = performance.now();
          this.logger.warn({ err: error, issuer }, 'The keys of a trusted issuer could not be read');
          throw unreadable(error);
        },
      )
      .finally(() => (keys.reading = undefined));
    return keys.reading;
  }

  private async fetchKeys(issuer: string): Promise<FindKey> {
    const metadata = await this.fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    const { issuer: named, jwks_uri: address } = metadata;
    // Otherwise one issuer's metadata could lead to the keys of another (OpenID Connect Discovery 1.0 §4.3).
    if (named !== issuer) throw new Error('The metadata names another issuer.');
    if (typeof address !== 'string') throw new Error('The metadata names no jwks_uri.');
    const keySet = await this.fetchJson(address);
    return createLocalJWKSet(keySet as unknown as JSONWebKeySet);
  }

  /** @throws Error for a status other than 200, no JSON object, and what `BoundedFetch` throws */
  private async fetchJson(url: string): Promise<Record<string, unknown>> {
    const answer = await this.http.fetch(url, { headers: { accept: 'application/json' } });
    if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}.`);
    const document: unknown = await answer.json();
    if (typeof document !== 'object' || document === null) throw new Error(`${url} answers no JSON object.`);
    return document as Record<string, unknown>;
  }
}

function unreadable(cause?: unknown): DomainError {
  return new DomainError('service_unavailable', "The keys of the token's issuer cannot be read.", [], {
    cause,
    headers: { 'retry-after': '2' },
  });
}
