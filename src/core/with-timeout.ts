interface TimeoutOptions {
  /** `false` lets the process end while the timer is active. */
  readonly ref?: boolean;
}

const LATE = Symbol('late');

/**
 * Waits for work for at most `milliseconds`. After that the result is what `onTimeout` returns, or the error that it
 * throws. The work continues, and its outcome is ignored.
 */
export async function withTimeout<T, F>(
  work: Promise<T>,
  milliseconds: number,
  onTimeout: () => F,
  { ref = true }: TimeoutOptions = {},
): Promise<T | F> {
  const { promise: late, resolve } = Promise.withResolvers<typeof LATE>();
  const timer = setTimeout(() => resolve(LATE), milliseconds);
  if (!ref) timer.unref();
  try {
    const outcome = await Promise.race([work, late]);
    return outcome === LATE ? onTimeout() : outcome;
  } finally {
    clearTimeout(timer);
  }
}

/** True if the work settles within `milliseconds`. Never rejects. */
export function endsWithin(work: Promise<unknown>, milliseconds: number, options?: TimeoutOptions): Promise<boolean> {
  const ended = work.then(
    () => true,
    () => true,
  );
  return withTimeout(ended, milliseconds, () => false, options);
}

/**
 * Waits for work until the signal aborts, and then rejects with its reason. The work continues: others may wait for it
 * too.
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
