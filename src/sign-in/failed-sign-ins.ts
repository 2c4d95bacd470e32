import { hash } from 'node:crypto';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { DataSource } from 'typeorm';
import { DomainError } from '../common/domain-error.js';
import { networkOf } from '../common/network-of.js';
import { PeriodicTask } from '../common/periodic-task.js';

const WINDOW_S = 15 * 60;
const MAX_PER_ADDRESS = 10;
const MAX_PER_SOURCE = 100;
const SWEEP_EVERY_MS = 10 * 60_000;

/** Who tries to sign in. */
export interface Attempt {
  readonly email: string;
  /** The IP address of the client. */
  readonly source: string;
  /** Of `KnownAccounts`: a browser that has been signed in to the account has a count of its own. */
  readonly knownAs: string | undefined;
}

/**
 * Limits failed sign-ins in 15 minutes to 10 for an address from one source, and to 100 from one source. All processes share
 * the counts. Keys are hashes, so that the table holds no addresses.
 */
@Injectable()
export class FailedSignIns implements OnApplicationShutdown {
  private readonly perAddress: RateLimiterPostgres;
  private readonly perSource: RateLimiterPostgres;
  private readonly sweeps: PeriodicTask;

  constructor(@InjectDataSource() dataSource: DataSource) {
    const limiter = (keyPrefix: string, points: number) =>
      new RateLimiterPostgres({
        storeClient: dataSource,
        storeType: 'typeorm',
        tableName: 'failed_sign_ins',
        tableCreated: true,
        clearExpiredByTimeout: false,
        keyPrefix,
        points,
        duration: WINDOW_S,
      });
    this.perAddress = limiter('address', MAX_PER_ADDRESS);
    this.perSource = limiter('source', MAX_PER_SOURCE);
    this.sweeps = new PeriodicTask(
      () => dataSource.query('DELETE FROM failed_sign_ins WHERE expire < $1', [Date.now()]),
      {
        pauseMs: SWEEP_EVERY_MS,
        isSpread: true,
        onError: () => undefined,
      },
    );
    this.sweeps.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.sweeps.stop();
  }

  /**
   * Counts the attempt as failed before the password is verified, so that attempts at the same time cannot exceed the limit.
   * Returns a function that takes it back after a successful sign-in.
   * @throws DomainError `too_many_requests` with `Retry-After`, whatever the password
   */
  async begin({ email, source, knownAs }: Attempt): Promise<() => Promise<void>> {
    const address = email.toLowerCase();
    const network = networkOf(source);
    const counts =
      knownAs === undefined
        ? [
            { limiter: this.perSource, key: keyOf(network) },
            { limiter: this.perAddress, key: keyOf(address, network) },
          ]
        : [{ limiter: this.perAddress, key: keyOf('known', knownAs) }];
    for (const { limiter, key } of counts) await consume(limiter, key);
    return async () => {
      for (const { limiter, key } of counts) await limiter.reward(key, 1);
    };
  }
}

async function consume(limiter: RateLimiterPostgres, key: string): Promise<void> {
  try {
    await limiter.consume(key, 1);
  } catch (thrown) {
    if (!(thrown instanceof RateLimiterRes)) throw thrown;
    const seconds = Math.max(1, Math.ceil(thrown.msBeforeNext / 1000));
    const detail = `Too many failed sign-ins. Try again in ${Math.ceil(seconds / 60)} minutes.`;
    throw new DomainError('too_many_requests', detail, [], { headers: { 'retry-after': String(seconds) } });
  }
}

function keyOf(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url');
}
