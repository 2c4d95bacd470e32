import { Pool, type PoolClient } from 'pg';
import { storageUnavailable } from '../../core/domain-error.js';

/** How many statements or transactions can wait for a connection. Each of them holds a request with its body. */
export const MAX_WAITING = 2_000;

type ConnectCallback = Parameters<Pool['connect']>[0];

/**
 * A pool that refuses at once when too many wait for a connection already. While the database is slow, requests would
 * otherwise pile up faster than they time out.
 */
export class BoundedPool extends Pool {
  /** Rejects with DomainError `storage_unavailable` if too many wait, otherwise as `pg.Pool` does. */
  override connect(): Promise<PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<PoolClient> | void {
    if (this.waitingCount < MAX_WAITING) return callback === undefined ? super.connect() : super.connect(callback);
    const refused = storageUnavailable();
    if (callback === undefined) return Promise.reject(refused);
    process.nextTick(callback, refused, undefined, () => undefined);
    return undefined;
  }
}
