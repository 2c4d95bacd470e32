import { withTimeout } from '../../core/with-timeout.js';

/** How long the stream is waited for: a server drops messages that it cannot send. */
const OPENING_MS = 1_000;

/** Whether a stream of notifications is open, for those who need it. */
export class StreamOpening {
  private readonly first = Promise.withResolvers<boolean>();
  private state = this.first.promise;
  /** True if somebody did not wait until the stream was open. */
  private isLate = false;

  /** @param missed called when the stream opens later than somebody waited: changes may have been missed until then */
  constructor(private readonly missed: () => void) {
    this.first.promise.catch(() => undefined);
  }

  /**
   * Resolves with false if the upstream does not offer the stream, otherwise once it is open, or after a second.
   * @throws what `fail` was called with
   */
  isOpen(): Promise<boolean> {
    return withTimeout(this.state, OPENING_MS, (): true => (this.isLate = true), { ref: false });
  }

  /** @param isOpen false if the upstream refuses the stream */
  settle(isOpen: boolean): void {
    this.first.resolve(isOpen);
    this.state = Promise.resolve(isOpen);
    if (this.isLate && isOpen) this.missed();
    this.isLate = false;
  }

  /** The first attempt has failed, and another one may follow. */
  fail(error: Error): void {
    this.first.reject(error);
  }
}
