export interface PeriodicTaskOptions {
  /** The pause before each turn, in milliseconds; a turn begins only after the previous one has ended. */
  readonly pauseMs: number;
  /** Varies the pause by a quarter, so that processes that started together do not work at the same time. */
  readonly isSpread?: boolean;
  /** When this returns false, no further turn runs until the next `start`. */
  readonly isNeeded?: () => boolean;
  /** Called for a failed turn, unless the previous turn failed too. */
  readonly onError: (error: unknown) => void;
}

/** Repeats work with pauses, whether it succeeds or not. Does not keep the process alive. */
export class PeriodicTask {
  private readonly stopping = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private turn: Promise<void> | undefined;
  private isFailing = false;

  /** @param work one turn; its signal aborts at `stop` */
  constructor(
    private readonly work: (signal: AbortSignal) => Promise<unknown>,
    private readonly options: PeriodicTaskOptions,
  ) {}

  /** The first turn begins after a pause. Later calls do nothing while turns are scheduled. */
  start(): void {
    if (this.timer === undefined && this.turn === undefined) this.schedule();
  }

  /** Schedules no further turn, and resolves when the current one has ended. Never rejects. */
  async stop(): Promise<void> {
    this.stopping.abort();
    clearTimeout(this.timer);
    await this.turn;
  }

  private schedule(): void {
    if (this.stopping.signal.aborted) return;
    const { pauseMs, isSpread = false } = this.options;
    this.timer = setTimeout(
      () => {
        this.timer = undefined;
        this.turn = this.takeTurn();
      },
      isSpread ? pauseMs * (0.75 + Math.random() / 2) : pauseMs,
    ).unref();
  }

  private async takeTurn(): Promise<void> {
    try {
      await this.work(this.stopping.signal);
      this.isFailing = false;
    } catch (error) {
      // Failures caused by stopping the service are not reported.
      if (!this.isFailing && !this.stopping.signal.aborted) this.options.onError(error);
      this.isFailing = true;
    }
    this.turn = undefined;
    if (this.options.isNeeded?.() !== false) this.schedule();
  }
}
