import { AsyncLocalStorage } from 'node:async_hooks';

/** Fields that belong to every line which is logged during some work. */
type LogFields = Readonly<Record<string, string>>;

/** The fields outside of any work. */
export const NO_FIELDS: LogFields = {};

const current = new AsyncLocalStorage<LogContext>();

/**
 * The request or run on whose behalf something is done: log lines have its ids without being told. What outlives it, such as a
 * session that the first request opens and others share, logs without them once it has ended.
 */
export class LogContext {
  private hasEnded = false;

  constructor(private readonly fields: LogFields) {}

  /** The fields of the work under way; none outside of any, or after its end. */
  static get fields(): LogFields {
    const context = current.getStore();
    return context === undefined || context.hasEnded ? NO_FIELDS : context.fields;
  }

  /** Does the work, and whatever it calls, in this context. */
  run<T>(work: () => T): T {
    return current.run(this, work);
  }

  end(): void {
    this.hasEnded = true;
  }
}
