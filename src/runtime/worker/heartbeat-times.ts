/**
 * The times that follow from `RUN_LOCK_MS`, in which a worker that is stopped or cut off counts as dead. `WorkerLock`
 * notices the death of a process earlier, and does not depend on it.
 */
export function heartbeatTimes(runLockMs: number) {
  return {
    /** How often a worker writes the heartbeat of its attempts: three fit into `silentMs`. */
    beatEveryMs: runLockMs / 4,
    /** An attempt without a heartbeat for this long is lost. */
    silentMs: runLockMs * 0.75,
    /** How often a worker searches for runs that wait or are lost. */
    searchEveryMs: runLockMs / 6,
  };
}
