import type { Readable } from 'node:stream';

const EVENTS = ['readable', 'end', 'error', 'close'] as const;

/** Waits for something to read from a stream, for a limited time in total. */
export class Silence {
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;
  private wake: (() => void) | undefined;

  constructor(private readonly maxMs: number) {}

  /**
   * Resolves with true if nothing arrived in time; with false once the stream can be read, has ended, or was destroyed.
   */
  async lastsUntil(body: Readable): Promise<boolean> {
    this.timer ??= setTimeout(() => {
      this.isOver = true;
      this.wake?.();
    }, this.maxMs);
    if (this.isOver) return true;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        for (const name of EVENTS) body.off(name, wake);
        resolve();
      };
      this.wake = wake;
      for (const name of EVENTS) body.on(name, wake);
    });
    return this.isOver;
  }

  /** Call when no longer needed. */
  end(): void {
    clearTimeout(this.timer);
  }
}
