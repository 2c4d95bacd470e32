import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { DomainError } from '../../core/domain-error.js';
import { PreparedStatements } from '../database/prepared-statements.js';
import { WindowCounts } from '../database/window-counts.js';

const HOUR_S = 3_600;

interface MailLimit {
  readonly prefix: string;
  readonly max: number;
  readonly windowS: number;
  readonly what: string;
}

/** To one address: of one organization, and of all together. */
const TO_ADDRESS = { prefix: 'address', max: 3, windowS: 24 * HOUR_S, what: 'to this address' };
const TO_ADDRESS_OF_ALL = { prefix: 'all', max: 10, windowS: 24 * HOUR_S, what: 'to this address' };
/** Of one organization, to all addresses. */
const OF_ORGANIZATION = { prefix: 'organization', max: 200, windowS: HOUR_S, what: 'of this organization' };

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
    await this.countOne(TO_ADDRESS, keyOf(organizationId, address));
    await this.countOne(OF_ORGANIZATION, organizationId);
    await this.countOne(TO_ADDRESS_OF_ALL, keyOf(address));
  }

  @DeletesExpired('counts of mails')
  deleteExpired(): Promise<number> {
    return this.counts.deleteExpired();
  }

  private async countOne({ prefix, max, windowS, what }: MailLimit, key: string): Promise<void> {
    const { count, endsInMs } = await this.counts.add(`${prefix}:${key}`, 1, windowS);
    if (count <= max) return;
    const seconds = Math.max(1, Math.ceil(endsInMs / 1000));
    const detail = `Too many mails ${what}. Try again in ${Math.ceil(seconds / 60)} minutes.`;
    throw new DomainError('too_many_requests', detail, [], { headers: { 'retry-after': String(seconds) } });
  }
}

function keyOf(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url');
}
