import type { LoggerService } from '@nestjs/common';
import type { Logger } from 'pino';

/** Nest logs every module and route at startup, which is useful only for debugging. */
const START_UP_CONTEXTS = new Set<unknown>([
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestFactory',
  'NestApplication',
]);

/**
 * Nest's logger interface on pino. The arguments are `(message, …, context)`; an object as message becomes log fields.
 */
export class NestLogger implements LoggerService {
  constructor(private readonly pino: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write(START_UP_CONTEXTS.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  private write(level: 'info' | 'error' | 'warn' | 'debug' | 'trace', message: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    const text = rest
      .slice(0, -1)
      .filter((part) => typeof part === 'string' && part !== '')
      .join(' ');
    if (typeof message === 'object' && message !== null) {
      const fields = message instanceof Error ? { err: message } : message;
      this.pino[level]({ context, ...fields }, text);
    } else {
      this.pino[level]({ context, ...(text === '' ? {} : { detail: text }) }, String(message));
    }
  }
}
