/** Aborts the step in progress, because a message that interrupts waits for the run. */
class StepInterruptedError extends Error {
  override readonly name = 'StepInterruptedError';
}

/** What an attempt has heard of messages that wait for its run. The database is authoritative. */
export class SteeringSignal {
  private isSet = false;
  private interruption = new AbortController();
  private interruptedBy: string | undefined;
  /** The steers that the attempt has: a late notice of one changes nothing. */
  private readonly taken = new Set<string>();

  get isPending(): boolean {
    return this.isSet;
  }

  /** Aborted when the current step must end. */
  get step(): AbortSignal {
    return this.interruption.signal;
  }

  /** @param known how many messages had come when the attempt began: they interrupt none of its steps */
  constructor(private readonly known = 0) {}

  /** A message has come. */
  note(steerId: string, interrupts: boolean): void {
    if (this.taken.has(steerId)) return;
    this.isSet = true;
    if (interrupts) this.interrupt(steerId);
  }

  /**
   * Messages wait.
   * @param lastInterrupting the number of the last one that interrupts; null if none does
   */
  noteWaiting(lastInterrupting: number | null): void {
    this.isSet = true;
    if (lastInterrupting !== null && lastInterrupting > this.known) this.interrupt();
  }

  /** Called before the attempt looks for messages. */
  clear(): void {
    this.isSet = false;
    if (this.step.aborted) this.interruption = new AbortController();
  }

  markTaken(steerId: string): void {
    this.taken.add(steerId);
    // Its notice came between the look for messages and this.
    if (this.step.aborted && this.interruptedBy === steerId) this.clear();
  }

  private interrupt(steerId?: string): void {
    this.interruptedBy = steerId;
    this.interruption.abort(new StepInterruptedError('A message interrupts the step.'));
  }
}
