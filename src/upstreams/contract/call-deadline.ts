import { unlessAborted } from '../../common/with-timeout.js';
import { UpstreamError } from './upstream-error.js';

/**
 * The time of one call: ends when its deadline passes or its caller gives up, whichever is first. The reason that its
 * signal carries is fixed, because the SDK sends it to the upstream.
 */
export class CallDeadline {
  private controller: AbortController | undefined;
  private readonly timer: NodeJS.Timeout;
  private readonly giveUp = (): void => this.stop('cancelled');
  private readonly stopCallbacks: (() => void)[] = [];
  private why: 'timeout' | 'cancelled' | undefined;

  constructor(
    private readonly caller: AbortSignal | undefined,
    timeoutMs: number,
  ) {
    this.timer = setTimeout(() => this.stop('timeout'), timeoutMs);
    if (caller?.aborted === true) this.giveUp();
    else caller?.addEventListener('abort', this.giveUp, { once: true });
  }

  /** Made when it is first asked for: most calls end without it. */
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.why !== undefined) this.controller.abort(this.why);
    }
    return this.controller.signal;
  }

  /** Why the scope ended early; undefined while it has not. */
  get stopped(): 'timeout' | 'cancelled' | undefined {
    return this.why;
  }

  /** Waits for something that is shared with other calls: rejects when this scope ends, and lets the work go on. */
  async wait<T>(start: () => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    return unlessAborted(start(), this.signal);
  }

  /** Calls back when the scope ends early, at once if it has. Cheaper than a signal and its listeners for every call. */
  onStop(callback: () => void): void {
    if (this.why === undefined) this.stopCallbacks.push(callback);
    else callback();
  }

  /** The caller has given up. */
  cancel(): void {
    this.stop('cancelled');
  }

  /** What an error that came out of the call means, now that it is known why the call ended. */
  explain(error: unknown): unknown {
    if (this.why === 'timeout') return new UpstreamError('timeout', 'The upstream did not answer in time.');
    if (this.why === 'cancelled') return new UpstreamError('cancelled', 'The request was cancelled.');
    return error;
  }

  /** To be called when the call is over. */
  end(): void {
    clearTimeout(this.timer);
    this.caller?.removeEventListener('abort', this.giveUp);
    // They hold on to all of the exchange. A scope that the garbage collector finds late must not keep it: it would be copied
    // into the old generation call by call.
    this.stopCallbacks.length = 0;
  }

  private stop(why: 'timeout' | 'cancelled'): void {
    this.why = why;
    const callbacks = this.stopCallbacks.splice(0);
    this.end();
    this.controller?.abort(why);
    for (const callback of callbacks) callback();
  }
}
