import { Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { DomainError } from '../common/domain-error.js';

/** What OWASP recommends for Argon2id, which is the library's default algorithm: 19 MiB, two passes. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** Hashes at once, and waiting ones, so that sign-ins cannot use up processors and memory. */
const MAX_AT_ONCE = 2;
const MAX_WAITING = 200;

/** Hashes and verifies passwords (RFC 9106), a few at a time. */
@Injectable()
export class PasswordHasher {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  /** The hash of no password: verifying against it takes as long as against that of an account. */
  private decoy: Promise<string> | undefined;

  /** @returns a PHC string @throws DomainError `service_unavailable` if too many passwords wait */
  hash(password: string): Promise<string> {
    return this.inTurn(() => hash(normalized(password), PARAMETERS));
  }

  /**
   * Takes the same time for a missing hash, for which the answer is false.
   * @throws DomainError `service_unavailable` if too many passwords wait
   */
  async verify(password: string, stored: string | null | undefined): Promise<boolean> {
    this.decoy ??= hash('', PARAMETERS);
    const expected = stored ?? (await this.decoy);
    const isRight = await this.inTurn(() => verify(expected, normalized(password)));
    return isRight && stored != null;
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= MAX_AT_ONCE) {
      if (this.waiting.length >= MAX_WAITING) throw new DomainError('service_unavailable', 'Please try again later.');
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    } else this.running++;
    try {
      return await work();
    } finally {
      // The next one takes over the place.
      const next = this.waiting.shift();
      if (next === undefined) this.running--;
      else next();
    }
  }
}

/** The same password can arrive in several Unicode forms, depending on the keyboard (RFC 8265). */
function normalized(password: string): string {
  return password.normalize('NFC');
}
