import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { DomainError } from '../../core/domain-error.js';
import { networkOf } from '../../core/network-of.js';
import { PreparedStatements } from '../../platform/database/prepared-statements.js';
import { WindowCounts } from '../../platform/database/window-counts.js';

const WINDOW_S = 15 * 60;
const MAX_PER_ADDRESS = 10;
const MAX_PER_SOURCE = 100;

/** Who tries to sign in. */
interface Attempt {
  readonly email: string;
  /** The IP address of the client. */
  readonly source: string;
  /** Of `KnownAccounts`: a browser that has been signed in to the account has a count of its own. */
  readonly knownAs: string | undefined;
}

/**
 * Limits failed sign-ins in 15 minutes to 10 for an address from one source, and to 100 from one source. All processes
 * share the counts. Keys are hashes, so that the table holds no addresses.
 */
@Injectable()
export class FailedSignIns {
  private readonly counts: WindowCounts;

  constructor(statements: PreparedStatements) {
    this.counts = new WindowCounts(statements, 'failed_sign_ins');
  }

  @DeletesExpired('counts of failed sign-ins')
  deleteExpired(): Promise<number> {
    return this.counts.deleteExpired();
  }

  /**
   * Counts the attempt as failed before the password is verified, so that attempts at the same time cannot exceed the
   * limit. Returns a function that takes it back after a successful sign-in.
   * @throws DomainError `too_many_requests` with `Retry-After`, whatever the password
   */
  async begin({ email, source, knownAs }: Attempt): Promise<() => Promise<void>> {
    const address = email.toLowerCase();
    const network = networkOf(source);
    const counted =
      knownAs === undefined
        ? [
            { key: `source:${keyOf(network)}`, max: MAX_PER_SOURCE },
            { key: `address:${keyOf(address, network)}`, max: MAX_PER_ADDRESS },
          ]
        : [{ key: `address:${keyOf('known', knownAs)}`, max: MAX_PER_ADDRESS }];
    for (const { key, max } of counted) await this.count(key, max);
    return async () => {
      for (const { key } of counted) await this.counts.add(key, -1, WINDOW_S);
    };
  }

  private async count(key: string, max: number): Promise<void> {
    const { count, endsInMs } = await this.counts.add(key, 1, WINDOW_S);
    if (count <= max) return;
    const seconds = Math.max(1, Math.ceil(endsInMs / 1000));
    const detail = `Too many failed sign-ins. Try again in ${Math.ceil(seconds / 60)} minutes.`;
    throw new DomainError('too_many_requests', detail, [], { headers: { 'retry-after': String(seconds) } });
  }
}

function keyOf(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url');
}
