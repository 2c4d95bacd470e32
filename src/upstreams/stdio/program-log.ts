import { Logger } from '@nestjs/common';
import { plainText } from '../../core/plain-text.js';
import { redactText, isSecretName } from '../../core/redact-text.js';
import type { StdioTarget } from '../contract/upstream-target.js';

const MAX_LOGGED_LENGTH = 1024;
/**
 * How much of standard error the messages of failures quote. A stack trace, which can follow the message of an error,
 * is left out.
 */
const QUOTED_LINES = 8;
const QUOTED_LENGTH = 200;
const STACK_FRAME = /^\s+at /;
/** As npm and Node, Python and uv, Go, and OpenSSL write it. */
const DISTRUST =
  /SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY|GET_ISSUER)|self[- ]signed certificate|unable to (?:get local issuer|verify the first) certificate|certificate verify failed|CERTIFICATE_VERIFY_FAILED|UnknownIssuer|signed by unknown authority/i;
const ABOUT_DISTRUST =
  ' The program does not trust the certificate of a server. If the certificate is of a private CA, set a variable ' +
  'with its file, such as NODE_EXTRA_CA_CERTS or SSL_CERT_FILE, in the env of the connection, or name the variable ' +
  'of the service in STDIO_ENV_PASS.';
/** How many lines can be logged in a burst, and for each second after that. */
const BURST = 50;
const RATE = 10;
/** Shorter values are not secret, and replacing them would make other text unreadable. */
const MIN_SECRET_LENGTH = 6;

/**
 * Logs what a program prints in addition to the protocol, limited in length and rate, and keeps its last lines for the
 * messages of failures, both without the values of the connection's variables and of arguments with secret names. A
 * secret that the program encodes or splits is not detected.
 */
export class ProgramLog {
  private readonly logger = new Logger('StdioProgram');
  private readonly fields: { connection_id: string; command: string };
  /** Longest first, so that a value within another one does not leave the rest of the other. */
  private readonly secrets: readonly string[];
  private readonly lastLines: string[] = [];
  private hasDistrust = false;
  private credit = BURST;
  private creditAt = performance.now();
  private dropped = 0;

  constructor({ connectionId, command, args, env }: StdioTarget) {
    this.fields = { connection_id: connectionId, command };
    const values = [...Object.values(env), ...secretArguments(args)];
    this.secrets = [...new Set(values.flatMap((value) => [value, ...value.split(/\r?\n/)]))]
      .filter((value) => value.length >= MIN_SECRET_LENGTH)
      .toSorted((a, b) => b.length - a.length);
  }

  /**
   * The last lines of standard error as a sentence that continues a message; empty if there are none. Also without
   * credentials that are recognizable from their context.
   */
  get lastWords(): string {
    if (this.lastLines.length === 0) return '';
    const lines = this.lastLines.map((line) =>
      redactText(quotable(this.withoutSecrets(line)))
        .slice(0, QUOTED_LENGTH)
        .toWellFormed(),
    );
    return `${this.hasDistrust ? ABOUT_DISTRUST : ''} The end of its standard error: ${lines.join(' | ')}`;
  }

  /** Logs a line of standard error. */
  errorLine(line: string): void {
    if (line.trim() === '') return;
    this.hasDistrust ||= DISTRUST.test(line);
    if (!STACK_FRAME.test(line)) this.lastLines.push(line);
    if (this.lastLines.length > QUOTED_LINES) this.lastLines.shift();
    if (!this.takeCredit()) return;
    this.logger.log(
      { ...this.fields, stderr: this.withoutSecrets(line).slice(0, MAX_LOGGED_LENGTH) },
      'A STDIO program wrote to standard error',
    );
  }

  /** Takes long with many secrets, so it is done only to what is shown. */
  private withoutSecrets(line: string): string {
    return this.secrets.reduce((text, secret) => text.replaceAll(secret, '***'), line);
  }

  /**
   * Logs that a line of standard output is not a JSON-RPC message. The line can contain anything, so it is not quoted.
   */
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

/** The values of arguments such as `--token=x` and `--api-key x`. */
function secretArguments(args: readonly string[]): string[] {
  return args.flatMap((argument, index) => {
    const [, name = '', value] = /^-{1,2}([\w.-]+)(?:=([^]*))?$/.exec(argument) ?? [];
    if (!isSecretName(name)) return [];
    return value ?? args[index + 1] ?? [];
  });
}

/** Colours and other control sequences (ECMA-48). */
const CONTROL = /\u001b\[[0-?]*[ -/]*[@-~]|[\u0000-\u001f\u007f-\u009f]+/g;

/** The text of a line, cut before it is searched, but not so that a secret could lose its name. */
function quotable(line: string): string {
  return plainText(line.slice(0, 16 * QUOTED_LENGTH).replace(CONTROL, ' '))
    .replace(/ {2,}/g, ' ')
    .trim();
}
