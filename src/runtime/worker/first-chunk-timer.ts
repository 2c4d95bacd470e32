/** Aborts a model call whose answer does not begin in time. */
export class FirstChunkTimer {
  private readonly late = new AbortController();
  private timer: NodeJS.Timeout | undefined;

  /** @param timeoutMs for each time that the provider is called; `Infinity` for no limit */
  constructor(private readonly timeoutMs: number) {}

  /** Aborted with a `TimeoutError`. */
  get signal(): AbortSignal {
    return this.late.signal;
  }

  start(): void {
    this.stop();
    if (this.timeoutMs === Infinity) return;
    this.timer = setTimeout(() => {
      this.late.abort(new DOMException('The model did not begin its answer in time.', 'TimeoutError'));
    }, this.timeoutMs);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
