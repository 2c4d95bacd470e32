import { Injectable } from '@nestjs/common';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { networkOf } from '../../core/network-of.js';
import { PreparedStatements } from '../../platform/database/prepared-statements.js';
import { hashedKey, WindowCounts } from '../../platform/database/window-counts.js';

const WINDOW_S = 15 * 60;
const PER_ADDRESS = { max: 10, windowS: WINDOW_S, what: 'failed sign-ins' };
const PER_SOURCE = { ...PER_ADDRESS, max: 100 };

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
            { key: `source:${hashedKey(network)}`, limit: PER_SOURCE },
            { key: `address:${hashedKey(address, network)}`, limit: PER_ADDRESS },
          ]
        : [{ key: `address:${hashedKey('known', knownAs)}`, limit: PER_ADDRESS }];
    for (const { key, limit } of counted) await this.counts.addWithin(key, limit);
    return async () => {
      for (const { key } of counted) await this.counts.add(key, -1, WINDOW_S);
    };
  }
}
