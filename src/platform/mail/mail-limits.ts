import { Injectable } from '@nestjs/common';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { PreparedStatements } from '../database/prepared-statements.js';
import { hashedKey, WindowCounts } from '../database/window-counts.js';

const HOUR_S = 3_600;

/** To one address: of one organization, and of all together. */
const TO_ADDRESS = { max: 3, windowS: 24 * HOUR_S, what: 'mails to this address' };
const TO_ADDRESS_OF_ALL = { max: 10, windowS: 24 * HOUR_S, what: 'mails to this address' };
/** Of one organization, to all addresses. */
const OF_ORGANIZATION = { max: 200, windowS: HOUR_S, what: 'mails of this organization' };

/**
 * Limits the mails that an organization has the service send, so that it is no way to flood somebody. All processes
 * share the counts. Keys are hashes, so that the table holds no addresses.
 */
@Injectable()
export class MailLimits {
  private readonly counts: WindowCounts;

  constructor(statements: PreparedStatements) {
    this.counts = new WindowCounts(statements, 'mail_counts');
  }

  /**
   * Counts a mail before it is sent.
   * @throws DomainError `too_many_requests` with `Retry-After`
   */
  async count(organizationId: string, to: string): Promise<void> {
    const address = to.toLowerCase();
    await this.counts.addWithin(`address:${hashedKey(organizationId, address)}`, TO_ADDRESS);
    await this.counts.addWithin(`organization:${organizationId}`, OF_ORGANIZATION);
    await this.counts.addWithin(`all:${hashedKey(address)}`, TO_ADDRESS_OF_ALL);
  }

  @DeletesExpired('counts of mails')
  deleteExpired(): Promise<number> {
    return this.counts.deleteExpired();
  }
}
