/** A service that listens. */
export interface RunningService {
  url: string;
  /** Waits for running work, closes every connection, and stops the embedded database, within 14 s in any case. */
  stop(): Promise<void>;
}

/** The parts of that time, in milliseconds. */
export const APPLICATION_WITHIN_MS = 11_000;
/** PostgreSQL completes its shutdown on its own; the next start adopts a server that is still running. */
export const STORAGE_WITHIN_MS = 3_000;
