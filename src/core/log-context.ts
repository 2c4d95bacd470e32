import { AsyncLocalStorage } from 'node:async_hooks';

/** Fields that belong to every line which is logged during some work. */
type LogFields = Readonly<Record<string, string>>;

/** The fields outside of any work. */
export const NO_FIELDS: LogFields = {};

const current = new AsyncLocalStorage<LogContext>();

/**
 * The request or run on whose behalf something is done: log lines have its ids without being told. What outlives it,
 * such as a session that the first request opens and others share, logs without them once it has ended.
 */
export class LogContext {
  private hasEnded = false;

  /** @param request whose caller's network address is `source`; read only when something asks for it */
  constructor(
    private readonly fields: LogFields,
    private readonly request?: { readonly ip: string },
  ) {}

  /** The fields of the work under way; none outside of any, or after its end. */
  static get fields(): LogFields {
    const context = current.getStore();
    return context === undefined || context.hasEnded ? NO_FIELDS : context.fields;
  }

  /** The network address of the caller of the current request; null outside of requests. */
  static get source(): string | null {
    return current.getStore()?.request?.ip ?? null;
  }

  /** Does the work, and whatever it calls, in this context. */
  run<T>(work: () => T): T {
    return current.run(this, work);
  }

  end(): void {
    this.hasEnded = true;
  }
}
