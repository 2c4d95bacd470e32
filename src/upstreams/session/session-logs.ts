import { AsyncLocalStorage } from 'node:async_hooks';

/** A call whose client asked for log messages. @param params of the message */
type LogReader = (params: object) => void;

/** The call for which a request is sent, by which a transport with a stream for each request passes its messages on. */
export const LOG_OF_CALL = new AsyncLocalStorage<LogReader>();

/**
 * The log messages that an upstream sends outside of its answers, as every program does. They name no call: the oldest
 * one whose client asked for log messages gets them. All calls of the session are of one caller.
 */
export class SessionLogs {
  private readonly readers = new Set<LogReader>();

  /**
   * @param isOfOneCaller false for a session that callers share, whose calls cannot be told apart: none gets messages
   */
  constructor(private readonly isOfOneCaller: boolean) {}

  /** Passes messages to this call until the returned function is called. */
  passTo(reader: LogReader): () => void {
    if (this.isOfOneCaller) this.readers.add(reader);
    return () => void this.readers.delete(reader);
  }

  logged(params: object): void {
    const [oldest] = this.readers;
    oldest?.(params);
  }
}
