import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.js';
import { errorMessage } from './embedded-postgres-error.js';
import { OwnerLock } from './owner-lock.js';
import { endPostmaster, stopPostmaster } from './postmaster.js';
import { ensureServer } from './server.js';

interface Ownership {
  cluster: Cluster;
  port: number;
  password: string;
  lock: OwnerLock;
  log: (line: string) => void;
}

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 5_000;

/**
 * A running server that this process owns. If the server dies (killed, out of memory), it is restarted on the same
 * port, so that connection pools can reconnect, and its lock is acquired again.
 */
export class OwnedServer {
  readonly #server: Omit<Ownership, 'lock'>;
  #lock: OwnerLock | undefined;
  #isStopping = false;
  #recovery: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;
  /** For a process that ends without `stop`: its server must not stay behind. */
  readonly #endWithProcess = (): void => {
    if (this.#lock) endPostmaster(this.#server.cluster.folder);
  };

  get port(): number {
    return this.#server.port;
  }

  constructor({ lock, ...server }: Ownership) {
    this.#server = server;
    this.#own(lock);
    process.once('exit', this.#endWithProcess);
  }

  /** Stops the server, which breaks all its connections. Later calls wait for the first one. */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    await this.#recovery;
    // Without the lock, the server may belong to another process by now.
    if (this.#lock) {
      // Release the lock last: otherwise another service could adopt a server that is about to stop.
      await stopPostmaster(this.#server.cluster.folder);
      await this.#lock.release();
    }
    process.removeListener('exit', this.#endWithProcess);
  }

  #own(lock: OwnerLock): void {
    this.#lock = lock;
    lock.onLost(() => {
      if (this.#isStopping) return;
      this.#lock = undefined;
      this.#recovery = this.#recover();
    });
  }

  async #recover(): Promise<void> {
    const { cluster, port, password, log } = this.#server;
    log('The connection to the embedded PostgreSQL was lost. Restoring it.');
    for (let pause = FIRST_RETRY_MS; !this.#isStopping; pause = Math.min(2 * pause, LAST_RETRY_MS)) {
      try {
        const running = await ensureServer(cluster, async () => port);
        const outcome = await OwnerLock.acquire({ port: running.port, password });
        if ('lock' in outcome && running.port === port) {
          this.#own(outcome.lock);
          return log('The embedded PostgreSQL is running again.');
        }
        if ('lock' in outcome) await outcome.lock.release();
        return log('Another process has taken over the embedded PostgreSQL. Restart the service.');
      } catch (error) {
        log(errorMessage(error));
        await sleep(pause);
      }
    }
  }
}
