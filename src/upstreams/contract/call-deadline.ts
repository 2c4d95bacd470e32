import { unlessAborted } from '../../core/with-timeout.js';
import { UpstreamError } from './upstream-error.js';

/** The maximum of `setTimeout`, which is longer than any session: for what only its caller ends. */
export const NO_LIMIT_MS = 2 ** 31 - 1;

/**
 * The deadline of one call: ends when its time is over or its caller gives up, whichever is first. The abort reason is
 * fixed, because the SDK sends it to the upstream.
 */
export class CallDeadline {
  private controller: AbortController | undefined;
  private timer: NodeJS.Timeout;
  private hasEnded = false;
  private readonly giveUp = (): void => this.stop('cancelled');
  private readonly stopCallbacks: (() => void)[] = [];
  private why: 'timeout' | 'cancelled' | undefined;

  constructor(
    private readonly caller: AbortSignal | undefined,
    private readonly timeoutMs: number,
  ) {
    this.timer = this.startTimer();
    if (caller?.aborted === true) this.giveUp();
    else caller?.addEventListener('abort', this.giveUp, { once: true });
  }

  /** Created on first use, because most calls do not need it. */
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.why !== undefined) this.controller.abort(this.why);
    }
    return this.controller.signal;
  }

  /** Why the call was stopped; undefined if it was not. */
  get stopped(): 'timeout' | 'cancelled' | undefined {
    return this.why;
  }

  /** Waits for work that is shared with other calls. Rejects when this call is stopped; the work continues. */
  async wait<T>(start: () => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    return unlessAborted(start(), this.signal);
  }

  /**
   * Calls back when the call is stopped, at once if it already is. Cheaper than a signal with listeners for every call.
   */
  onStop(callback: () => void): void {
    if (this.why === undefined) this.stopCallbacks.push(callback);
    else callback();
  }

  /** Call when the caller gives up. */
  cancel(): void {
    this.stop('cancelled');
  }

  /**
   * Maps an error of the call to its cause: the timeout or cancellation if there was one, otherwise the error itself.
   */
  explain(error: unknown): unknown {
    if (this.why === 'timeout') return new UpstreamError('timeout', 'The upstream did not answer in time.');
    if (this.why === 'cancelled') return new UpstreamError('cancelled', 'The request was cancelled.');
    return error;
  }

  /** Ends the time limit, for as long as the answer waits for others. The call can still be cancelled. */
  lift(): void {
    clearTimeout(this.timer);
  }

  /** Starts the time limit again, after `lift`. */
  restart(): void {
    clearTimeout(this.timer);
    if (!this.hasEnded) this.timer = this.startTimer();
  }

  /** Call when the call has ended. */
  end(): void {
    this.hasEnded = true;
    clearTimeout(this.timer);
    this.caller?.removeEventListener('abort', this.giveUp);
    // The callbacks reference the whole exchange. A deadline that is collected late must not keep it, or every call
    // would be copied into the old generation.
    this.stopCallbacks.length = 0;
  }

  private startTimer(): NodeJS.Timeout {
    return setTimeout(() => this.stop('timeout'), this.timeoutMs);
  }

  private stop(why: 'timeout' | 'cancelled'): void {
    this.why = why;
    const callbacks = this.stopCallbacks.splice(0);
    this.end();
    this.controller?.abort(why);
    for (const callback of callbacks) callback();
  }
}
