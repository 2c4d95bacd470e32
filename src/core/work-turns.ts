import type { Principal } from './principal.js';
import type { Holder } from './sharing/shares.js';
import { TurnQueue } from './sharing/turn-queue.js';

/**
 * How long the steps of all tasks can hold up one turn of the event loop, in milliseconds. One task is always served.
 */
const TURN_MS = 4;
/** How many tasks are served in one turn at most. */
const TASKS_PER_TURN = 16;

/** A task that waits for its turn. */
interface Task {
  /** Organizations take turns, and in each of them its lines. */
  readonly holder: Holder;
  readonly goOn: () => void;
}

/**
 * Each caller has a line for its requests, and one for their large answers. All callers without a credential share
 * theirs.
 */
export function turnHolderOf(principal: Principal | undefined, kind: 'request' | 'answer'): Holder {
  return [principal?.organization.id ?? '', `${kind} ${principal?.callerId ?? ''}`];
}

/** The line of an organization for large answers that the service itself reads for it. */
export function serviceTurnHolderOf(organizationId: string): Holder {
  return [organizationId, 'answer service'];
}

/**
 * The turns of the event loop of this process. Each task is served in a callback of its own, until the time of the turn
 * is used up; then other events of the process come first.
 */
class Turns {
  private readonly tasks = new TurnQueue<Task>();
  private isTurnOpen = false;
  private turnBegan = 0;

  /** Returns undefined if the task can go on at once. */
  enter(holder: Holder): Promise<void> | undefined {
    if (!this.isTurnOpen) {
      this.isTurnOpen = true;
      this.turnBegan = performance.now();
      setImmediate(() => this.openTurn());
    }
    if (this.tasks.isEmpty && !this.isTimeUp) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.tasks.add({ holder, goOn: resolve });
    return promise;
  }

  private get isTimeUp(): boolean {
    return performance.now() - this.turnBegan > TURN_MS;
  }

  private openTurn(): void {
    this.turnBegan = performance.now();
    this.isTurnOpen = !this.tasks.isEmpty;
    if (!this.isTurnOpen) return;
    this.tasks.next()?.goOn();
    // What is scheduled here runs in the next turn. The first of it starts the time of the rest, which the other events
    // of that turn would use up otherwise.
    setImmediate(() => this.openTurn());
    // Node.js handles the promises of a served task before it calls the next of these.
    for (let served = 1; served < TASKS_PER_TURN; served++) {
      setImmediate(() => {
        if (!this.isTimeUp) this.tasks.next()?.goOn();
      });
    }
  }
}

const turns = new Turns();

/** Takes a turn before work that begins, such as a request. Returns a promise if it has to wait. */
export function takeTurn(holder: Holder): Promise<void> | undefined {
  return turns.enter(holder);
}

/**
 * Keeps one task of many small steps from holding up the event loop, such as a run whose model streams faster than its
 * chunks are handled, or a large answer on its way to a caller. Without it, every other request would wait for the work
 * of all such tasks.
 */
export class WorkTurns {
  private done = 0;

  /** @param free what is done before others can go on: steps, or any other measure that `next` is told */
  constructor(
    private readonly holder: Holder,
    private readonly free: number,
  ) {}

  /** Counts what is done next. Returns a promise if it has to wait. */
  next(amount = 1): Promise<void> | undefined {
    this.done += amount;
    if (this.done < this.free) return undefined;
    this.done = 0;
    return takeTurn(this.holder);
  }
}
