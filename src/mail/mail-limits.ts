import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { DataSource } from 'typeorm';
import { DomainError } from '../common/domain-error.js';

const HOUR_S = 3_600;
const TABLE = 'mail_counts';

/** To one address: of one organization, and of all together. */
const TO_ADDRESS = { points: 3, duration: 24 * HOUR_S };
const TO_ADDRESS_OF_ALL = { points: 10, duration: 24 * HOUR_S };
/** Of one organization, to all addresses. */
const OF_ORGANIZATION = { points: 200, duration: HOUR_S };

/**
 * Limits the mails that an organization has the service send, so that it is no way to flood somebody. All processes share the counts.
 * Keys are hashes, so that the table holds no addresses.
 */
@Injectable()
export class MailLimits {
  private readonly toAddress: RateLimiterPostgres;
  private readonly toAddressOfAll: RateLimiterPostgres;
  private readonly ofOrganization: RateLimiterPostgres;

  constructor(@InjectDataSource() private readonly database: DataSource) {
    const limiter = (keyPrefix: string, limit: { points: number; duration: number }) =>
      new RateLimiterPostgres({
        ...limit,
        keyPrefix,
        storeClient: database,
        storeType: 'typeorm',
        tableName: TABLE,
        tableCreated: true,
        clearExpiredByTimeout: false,
      });
    this.toAddress = limiter('address', TO_ADDRESS);
    this.toAddressOfAll = limiter('all', TO_ADDRESS_OF_ALL);
    this.ofOrganization = limiter('organization', OF_ORGANIZATION);
  }

  /**
   * Counts a mail before it is sent.
   * @throws DomainError `too_many_requests` with `Retry-After`
   */
  async count(organizationId: string, to: string): Promise<void> {
    await this.database.query(`DELETE FROM ${TABLE} WHERE expire < $1`, [Date.now()]);
    const address = to.toLowerCase();
    await consume(this.toAddress, keyOf(organizationId, address), 'to this address');
    await consume(this.ofOrganization, organizationId, 'of this organization');
    await consume(this.toAddressOfAll, keyOf(address), 'to this address');
  }
}

async function consume(limiter: RateLimiterPostgres, key: string, what: string): Promise<void> {
  try {
    await limiter.consume(key, 1);
  } catch (thrown) {
    if (!(thrown instanceof RateLimiterRes)) throw thrown;
    const seconds = Math.max(1, Math.ceil(thrown.msBeforeNext / 1000));
    const detail = `Too many mails ${what}. Try again in ${Math.ceil(seconds / 60)} minutes.`;
    throw new DomainError('too_many_requests', detail, [], { headers: { 'retry-after': String(seconds) } });
  }
}

function keyOf(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url');
}
