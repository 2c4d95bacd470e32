import { Injectable, Logger } from '@nestjs/common';
import { createTransport, type Transporter } from 'nodemailer';
import { inertName } from '../../core/inert-name.js';
import { AppConfig } from '../../core/config/app-config.js';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { PreparedStatements } from '../database/prepared-statements.js';
import { hashedKey, WindowCounts } from '../database/window-counts.js';

const TIMEOUT_MS = 20_000;

/**
 * Sends mail through the server at `SMTP_URL`. Failures are logged without the message, which contains a secret link.
 */
@Injectable()
export class Mailer {
  private readonly logger = new Logger(Mailer.name);
  private readonly transport: Transporter | undefined;

  constructor(private readonly config: AppConfig) {
    const { smtpUrl } = config.settings;
    if (smtpUrl === undefined) return;
    this.transport = createTransport({
      url: smtpUrl,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
    });
  }

  /** Whether the service sends mail. */
  get isEnabled(): boolean {
    return this.transport !== undefined;
  }

  /** @param organization its name, which anybody can choose who has an organization */
  sendInvitation(to: string, organization: string, link: string): void {
    const name = inertName(organization);
    const subject = `Invitation to ${name} on Signalbox`;
    this.send(to, subject, `You are invited to join ${name} on Signalbox. Open this link to accept:\n\n${link}\n`);
  }

  sendReset(to: string, link: string): void {
    const text = `Open this link within 24 hours to set a new password for Signalbox:\n\n${link}\n`;
    this.send(to, 'Reset your Signalbox password', text);
  }

  /** Returns at once: the response of a tool does not depend on the mail server. */
  private send(to: string, subject: string, text: string): void {
    const from = this.config.settings.mailFrom ?? `Signalbox <no-reply@${new URL(this.config.baseUrl).hostname}>`;
    const message = { from, to: { name: '', address: to }, subject: subject.replaceAll(/[\r\n]+/g, ' '), text };
    this.transport?.sendMail(message).catch((error: Error) => {
      this.logger.warn(`Failed to send mail: ${error.message}`);
    });
  }
}

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
