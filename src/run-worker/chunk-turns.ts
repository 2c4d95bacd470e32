/** How many chunks a run handles before it lets others go on. */
const CHUNKS_PER_TURN = 16;
/** How long the chunks of all runs can hold up one turn of the event loop, in milliseconds. One run is always served. */
const TURN_MS = 4;
/** How many runs are served in one turn at most. */
const RUNS_PER_TURN = 16;

/**
 * The runs of this process that wait to handle more chunks. Each is served in a callback of its own, until the time of the turn is used up;
 * then other events of the process come first. Organizations take turns, so one with many runs does not delay the others.
 */
class WaitingRuns {
  /** By organization; the first one is served next. */
  private readonly waiting = new Map<string, (() => void)[]>();
  private isTurnOpen = false;
  private turnBegan = 0;

  /** Returns undefined if the run can go on at once. */
  enter(organizationId: string): Promise<void> | undefined {
    if (!this.isTurnOpen) {
      this.isTurnOpen = true;
      this.turnBegan = performance.now();
      setImmediate(() => this.openTurn());
    }
    if (this.waiting.size === 0 && !this.isTimeUp) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const runs = this.waiting.get(organizationId);
    if (runs === undefined) this.waiting.set(organizationId, [resolve]);
    else runs.push(resolve);
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
    // Node.js handles the promises of a served run before it calls the next of these.
    for (let served = 1; served < RUNS_PER_TURN; served++) {
      setImmediate(() => {
        if (!this.isTimeUp) this.serveNext();
      });
    }
  }

  private serveNext(): void {
    const [next] = this.waiting;
    if (next === undefined) return;
    const [organizationId, runs] = next;
    const goOn = runs.shift();
    this.waiting.delete(organizationId);
    if (runs.length > 0) this.waiting.set(organizationId, runs);
    goOn?.();
  }
}

const waitingRuns = new WaitingRuns();

/**
 * Keeps the chunks of one run from holding up the event loop. Models that stream faster than their chunks are handled would
 * otherwise delay every other request by the work of all runs in progress.
 */
export class ChunkTurns {
  private chunks = 0;

  constructor(private readonly organizationId: string) {}

  /** Counts a chunk. Returns a promise if the run has to wait before it handles another one. */
  next(): Promise<void> | undefined {
    if (++this.chunks < CHUNKS_PER_TURN) return undefined;
    this.chunks = 0;
    return waitingRuns.enter(this.organizationId);
  }
}
