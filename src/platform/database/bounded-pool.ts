import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { storageUnavailable } from '../../core/domain-error.js';

/** How many statements or transactions can wait for a connection. Each of them holds a request with its body. */
export const MAX_WAITING = 2_000;

/**
 * Waits are counted in ticks of this process: one that was stopped for a while, with all its callers, does not refuse
 * them for that.
 */
const TICK_MS = 500;
const WAIT_TICKS = 6;

type ConnectCallback = Parameters<Pool['connect']>[0];

interface Waiter {
  readonly callback: ConnectCallback;
  /** The tick in which it came. */
  readonly since: number;
}

/**
 * A pool that refuses at once when too many wait for a connection already. While the database is slow, requests would
 * otherwise pile up faster than they time out.
 *
 * Who waits gets the first connection that is free, in the order in which they came. In `pg.Pool`, who came while a
 * connection had to be opened waits for this one, although others become free meanwhile.
 */
export class BoundedPool extends Pool {
  private readonly waiters: Waiter[] = [];
  /** Requests to `pg.Pool` that have no answer. More than its connections would only wait in its queue. */
  private requested = 0;
  private tick = 0;
  private ticking: NodeJS.Timeout | undefined;

  constructor(config?: PoolConfig) {
    super(config);
    this.on('release', () => {
      // The connection is idle in the next tick.
      if (this.waiters.length > 0) process.nextTick(() => this.useIdle());
    });
  }

  /** How many wait for a connection. */
  get waiting(): number {
    return this.waiters.length;
  }

  /**
   * @throws DomainError `storage_unavailable` if too many wait; an error of `pg` if no connection could be opened, or
   *   none was free in 3 to 3.5 s
   */
  override connect(): Promise<PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<PoolClient> | void {
    if (callback === undefined) {
      return new Promise((resolve, reject) => {
        this.connect((error, client) => (client === undefined ? reject(error as Error) : resolve(client)));
      });
    }
    if (this.waiters.length >= MAX_WAITING) {
      process.nextTick(callback, storageUnavailable(), undefined, () => undefined);
      return undefined;
    }
    this.waiters.push({ callback, since: this.tick });
    this.ticking ??= setInterval(() => this.endTick(), TICK_MS).unref();
    this.requestEnough();
    return undefined;
  }

  private requestEnough(): void {
    while (this.requested < Math.min(this.waiters.length, this.options.max)) this.request();
  }

  private request(): void {
    this.requested += 1;
    super.connect((error, client, release) => {
      this.requested -= 1;
      if (client !== undefined) this.give(client, release);
      // The first waiter may have come later than a request that took too long.
      else if (error?.message.includes('timeout') !== true) this.refuse(error as Error);
      this.requestEnough();
    });
  }

  private give(client: PoolClient, release: Parameters<ConnectCallback>[2]): void {
    const waiter = this.waiters.shift();
    if (waiter === undefined) release();
    else waiter.callback(undefined, client, release);
  }

  private refuse(error: Error): void {
    this.waiters.shift()?.callback(error, undefined, () => undefined);
  }

  private useIdle(): void {
    if (this.idleCount > 0 && this.waiters.length > 0) this.request();
  }

  private endTick(): void {
    this.tick += 1;
    while (this.waiters[0] !== undefined && this.tick - this.waiters[0].since > WAIT_TICKS) {
      this.refuse(new Error('timeout exceeded when trying to connect'));
    }
    if (this.waiters.length > 0) return;
    clearInterval(this.ticking);
    this.ticking = undefined;
  }
}
