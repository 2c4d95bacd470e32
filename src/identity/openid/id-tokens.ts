import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { sessionHashOf } from '../browser-sessions/browser-sessions.js';
import { IdTokenRepository, type LeasedIdToken } from './id-token.repository.js';
import { IdentityAssertions, IssuerRefusal } from './identity-assertions.js';
import type { IssuedTokens } from './openid-client.js';

/** How long a caller waits for another process: as long as its request can take. */
const MAX_WAIT_MS = 6_000;
const POLL_MS = 100;

/** An ID token of a person, to be presented to its issuer. */
interface IdToken {
  /** Identifies the sign-in that it is of. */
  readonly id: string;
  readonly value: string;
}

/**
 * The ID tokens with which people have signed in at the issuer. They are kept, sealed, only where a connection needs
 * them, for as long as the browser is signed in. One process at a time uses a refresh token, which can be valid once.
 */
@Injectable()
export class IdTokens {
  constructor(
    private readonly repository: IdTokenRepository,
    private readonly assertions: IdentityAssertions,
  ) {}

  /** Whether sign-ins should ask the issuer for a refresh token. */
  areNeeded(): Promise<boolean> {
    return this.repository.areNeeded();
  }

  /** Keeps the tokens of a sign-in if they are needed. @param sessionSecret from `SignInService.complete` */
  keep(sessionSecret: string, tokens: IssuedTokens): Promise<void> {
    return this.repository.insert(sessionHashOf(sessionSecret), tokens);
  }

  /** The id of the token that `current` would return, as far as this is known without the issuer. */
  async findId(userId: string): Promise<string | undefined> {
    return (await this.repository.findLatest(userId))?.id;
  }

  /** Undefined for a person who has to sign in again. Rejects if the issuer cannot be asked for another one. */
  async current(userId: string): Promise<IdToken | undefined> {
    const end = performance.now() + MAX_WAIT_MS;
    do {
      const stored = await this.repository.findLatest(userId);
      if (stored === undefined) return undefined;
      if (!stored.isExpired) return { id: stored.id, value: stored.tokens.idToken };
      const leased = await this.repository.lease(stored);
      if (leased === undefined) await sleep(POLL_MS);
      else {
        const refreshed = await this.refresh(leased);
        if (refreshed !== undefined) return { id: stored.id, value: refreshed.idToken };
      }
    } while (performance.now() < end);
    throw new Error('Another process did not get another ID token in time.');
  }

  /** Undefined if the issuer gives no more, which removes the stored one, or if the lease was lost. */
  private async refresh(leased: LeasedIdToken): Promise<IssuedTokens | undefined> {
    const refreshed = await this.requestAnother(leased);
    // If this fails, the lease stays: the refresh token that is still stored was used.
    const isStored = refreshed !== undefined && (await this.repository.replace(leased, refreshed));
    return isStored ? refreshed : undefined;
  }

  private async requestAnother(leased: LeasedIdToken): Promise<IssuedTokens | undefined> {
    try {
      return await this.assertions.refresh(leased.tokens);
    } catch (error) {
      if (error instanceof IssuerRefusal && error.code === 'invalid_grant') {
        await this.repository.remove(leased);
        return undefined;
      }
      await this.repository.endLease(leased);
      throw error;
    }
  }
}
