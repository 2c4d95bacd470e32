/** How long the steps of all tasks can hold up one turn of the event loop, in milliseconds. One task is always served. */
const TURN_MS = 4;
/** How many tasks are served in one turn at most. */
const TASKS_PER_TURN = 16;

/**
 * The tasks of this process that wait for their next step. Each is served in a callback of its own, until the time of the turn is used up;
 * then other events of the process come first. Organizations take turns, so one with many tasks does not delay the others.
 */
class WaitingTasks {
  /** By organization; the first one is served next. */
  private readonly waiting = new Map<string, (() => void)[]>();
  private isTurnOpen = false;
  private turnBegan = 0;

  /** Returns undefined if the task can go on at once. */
  enter(organizationId: string): Promise<void> | undefined {
    if (!this.isTurnOpen) {
      this.isTurnOpen = true;
      this.turnBegan = performance.now();
      setImmediate(() => this.openTurn());
    }
    if (this.waiting.size === 0 && !this.isTimeUp) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const tasks = this.waiting.get(organizationId);
    if (tasks === undefined) this.waiting.set(organizationId, [resolve]);
    else tasks.push(resolve);
    return promise;
  }

  private get isTimeUp(): boolean {
    return performance.now() - this.turnBegan > TURN_MS;
  }

  private openTurn(): void {
    this.turnBegan = performance.now();
    this.isTurnOpen = this.waiting.size > 0;
    if (!this.isTurnOpen) return;
    this.serveNext();
    // What is scheduled here runs in the next turn. The first of it starts the time of the rest, which the other events of that turn
    // would use up otherwise.
    setImmediate(() => this.openTurn());
    // Node.js handles the promises of a served task before it calls the next of these.
    for (let served = 1; served < TASKS_PER_TURN; served++) {
      setImmediate(() => {
        if (!this.isTimeUp) this.serveNext();
      });
    }
  }

  private serveNext(): void {
    const [next] = this.waiting;
    if (next === undefined) return;
    const [organizationId, tasks] = next;
    const goOn = tasks.shift();
    this.waiting.delete(organizationId);
    if (tasks.length > 0) this.waiting.set(organizationId, tasks);
    goOn?.();
  }
}

const waitingTasks = new WaitingTasks();

/**
 * Keeps one task of many small steps from holding up the event loop, such as a run whose model streams faster than its chunks are
 * handled, or a large answer on its way to a caller. Without it, every other request would wait for the work of all such tasks.
 */
export class WorkTurns {
  private done = 0;

  /** @param free what is done before others can go on: steps, or any other measure that `next` is told */
  constructor(
    private readonly organizationId: string,
    private readonly free: number,
  ) {}

  /** Counts what is done next. Returns a promise if it has to wait. */
  next(amount = 1): Promise<void> | undefined {
    this.done += amount;
    if (this.done < this.free) return undefined;
    this.done = 0;
    return waitingTasks.enter(this.organizationId);
  }
}
