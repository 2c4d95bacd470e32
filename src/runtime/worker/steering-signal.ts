/** Aborts the step in progress, because a message that interrupts waits for the run. */
class StepInterruptedError extends Error {
  override readonly name = 'StepInterruptedError';
}

/** What an attempt has heard of messages that wait for its run. The database is authoritative. */
export class SteeringSignal {
  private isSet = false;
  private interruption = new AbortController();
  /** The steers that the attempt has: a late notice of one changes nothing. */
  private readonly taken = new Set<string>();

  get isPending(): boolean {
    return this.isSet;
  }

  /** Aborted when the current step must end. */
  get step(): AbortSignal {
    return this.interruption.signal;
  }

  /** @param steerId undefined if it is not known */
  note(interrupts: boolean, steerId?: string): void {
    if (steerId !== undefined && this.taken.has(steerId)) return;
    this.isSet = true;
    if (interrupts) this.interruption.abort(new StepInterruptedError('A message interrupts the step.'));
  }

  /** Called before the attempt looks for messages. */
  clear(): void {
    this.isSet = false;
    if (this.step.aborted) this.interruption = new AbortController();
  }

  markTaken(steerId: string): void {
    this.taken.add(steerId);
  }
}
