import { Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { DomainError } from '../../core/domain-error.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { atMost, Shares } from '../../core/sharing/shares.js';

/** What OWASP recommends for Argon2id, which is the library's default algorithm: 19 MiB, two passes. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** The share of accounts that do not exist, or are in no organization. */
const NO_ORGANIZATION = '';

/** Hashes and verifies passwords (RFC 9106), a few at a time. */
@Injectable()
export class PasswordHasher {
  /**
   * Hashes at once, and waiting ones, so that sign-ins cannot use up processors and memory. One organization can use
   * both units, but the next free one goes to another.
   */
  private readonly share = new FairShare({
    capacity: 2,
    limits: [],
    places: new Shares(Infinity, [atMost(100)]),
    waitMs: 30_000,
    refusal: () => new DomainError('service_unavailable', 'Please try again later.'),
  });
  /** The hash of no password: verifying against it takes as long as against that of an account. */
  private decoy: Promise<string> | undefined;

  /**
   * @param organizationId whose share of the places the password uses
   * @returns a PHC string
   * @throws DomainError `service_unavailable` if too many passwords of the organization wait
   */
  hash(password: string, organizationId: string | null): Promise<string> {
    return this.inTurn(organizationId, () => hash(normalized(password), PARAMETERS));
  }

  /**
   * Takes the same time for a missing hash, for which the answer is false.
   * @param organizationId whose share of the places the password uses
   * @throws DomainError `service_unavailable` if too many passwords of the organization wait
   */
  async verify(password: string, stored: string | null | undefined, organizationId: string | null): Promise<boolean> {
    this.decoy ??= hash('', PARAMETERS);
    const expected = stored ?? (await this.decoy);
    const isRight = await this.inTurn(organizationId, () => verify(expected, normalized(password)));
    return isRight && stored != null;
  }

  private inTurn<T>(organizationId: string | null, work: () => Promise<T>): Promise<T> {
    return this.share.within([organizationId ?? NO_ORGANIZATION], work);
  }
}

/** The same password can arrive in several Unicode forms, depending on the keyboard (RFC 8265). */
function normalized(password: string): string {
  return password.normalize('NFC');
}
