import { Logger } from '@nestjs/common';
import type { StdioTarget } from '../contract/upstream-target.js';

const MAX_LOGGED_LENGTH = 1024;
/** Lines that may come at once, and lines per second after that. */
const BURST = 50;
const RATE = 10;
/** Shorter values are no secrets worth the name, and replacing them would make other text unreadable. */
const MIN_SECRET_LENGTH = 6;

/**
 * What a program prints beside the protocol, in the service's log: bounded in length and rate, and without the values of the
 * connection's own variables. A program that encodes or splits a secret before it prints it gets around that.
 */
export class ProgramLog {
  private readonly logger = new Logger('StdioProgram');
  private readonly fields: { connection_id: string; command: string };
  /** Longest first, so that a value within another one does not leave the rest of it behind. */
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

  /** A line of its standard error. */
  errorLine(line: string): void {
    if (line.trim() === '' || !this.mayWrite()) return;
    const text = this.secrets.reduce((text, secret) => text.replaceAll(secret, '***'), line);
    this.logger.log({ ...this.fields, stderr: text.slice(0, MAX_LOGGED_LENGTH) }, 'A STDIO program says');
  }

  /** A line of its standard output that is no JSON-RPC message; it may hold anything, so it is not quoted. */
  strayLine(): void {
    if (this.mayWrite()) this.logger.warn(this.fields, 'A STDIO program printed a line that is not JSON-RPC');
  }

  /** It ended without being asked to. */
  fault(message: string): void {
    this.logger.warn({ ...this.fields, detail: message }, 'A STDIO program failed');
  }

  private mayWrite(): boolean {
    const now = performance.now();
    this.credit = Math.min(BURST, this.credit + ((now - this.creditAt) / 1000) * RATE);
    this.creditAt = now;
    if (this.credit < 1) {
      this.dropped++;
      return false;
    }
    this.credit--;
    if (this.dropped > 0) {
      this.logger.warn({ ...this.fields, dropped: this.dropped }, 'A STDIO program prints too much');
      this.dropped = 0;
    }
    return true;
  }
}
