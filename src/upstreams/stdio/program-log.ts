import { Logger } from '@nestjs/common';
import type { StdioTarget } from '../contract/upstream-target.js';

const MAX_LOGGED_LENGTH = 1024;
/** How many lines can be logged in a burst, and for each second after that. */
const BURST = 50;
const RATE = 10;
/** Shorter values are not secret, and replacing them would make other text unreadable. */
const MIN_SECRET_LENGTH = 6;

/**
 * Logs what a program prints in addition to the protocol, limited in length and rate, and without the values of the connection's
 * variables. A secret that the program encodes or splits is not detected.
 */
export class ProgramLog {
  private readonly logger = new Logger('StdioProgram');
  private readonly fields: { connection_id: string; command: string };
  /** Longest first, so that a value within another one does not leave the rest of the other. */
  private readonly secrets: readonly string[];
  private credit = BURST;
  private creditAt = performance.now();
  private dropped = 0;

  constructor({ connectionId, command, env }: StdioTarget) {
    this.fields = { connection_id: connectionId, command };
    this.secrets = Object.values(env)
      .flatMap((value) => [value, ...value.split(/\r?\n/)])
      .filter((value) => value.length >= MIN_SECRET_LENGTH)
      .toSorted((a, b) => b.length - a.length);
  }

  /** Logs a line of standard error. */
  errorLine(line: string): void {
    if (line.trim() === '' || !this.takeCredit()) return;
    const text = this.secrets.reduce((text, secret) => text.replaceAll(secret, '***'), line);
    this.logger.log(
      { ...this.fields, stderr: text.slice(0, MAX_LOGGED_LENGTH) },
      'A STDIO program wrote to standard error',
    );
  }

  /** Logs that a line of standard output is not a JSON-RPC message. The line can contain anything, so it is not quoted. */
  strayLine(): void {
    if (this.takeCredit()) this.logger.warn(this.fields, 'A STDIO program printed a line that is not JSON-RPC');
  }

  /** Logs that the program failed. */
  fault(message: string): void {
    this.logger.warn({ ...this.fields, detail: message }, 'A STDIO program failed');
  }

  private takeCredit(): boolean {
    const now = performance.now();
    this.credit = Math.min(BURST, this.credit + ((now - this.creditAt) / 1000) * RATE);
    this.creditAt = now;
    if (this.credit < 1) {
      this.dropped++;
      return false;
    }
    this.credit--;
    if (this.dropped > 0) {
      this.logger.warn(
        { ...this.fields, dropped: this.dropped },
        'Dropped log lines of a STDIO program that prints too much',
      );
      this.dropped = 0;
    }
    return true;
  }
}
