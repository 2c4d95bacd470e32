const MARK_LENGTH = 7;
const WORKER_LENGTH = 5;

/** The length of an epoch that names a worker. */
export const EPOCH_WITH_WORKER_LENGTH = MARK_LENGTH + WORKER_LENGTH;
/** The position of the worker's id in such an epoch, as SQL counts: from 1. */
export const WORKER_IN_EPOCH = MARK_LENGTH + 1;

/**
 * Identifies one writer of a run and of its stream: a random mark.
 * @param workerId appended to the mark, so that the run's row tells whose attempt it is
 */
export function newEpoch(workerId = ''): string {
  return randomText(MARK_LENGTH) + workerId;
}

/** Identifies a process that executes runs. */
export function newWorkerId(): string {
  return randomText(WORKER_LENGTH);
}

function randomText(length: number): string {
  return Math.floor(Math.random() * 36 ** length)
    .toString(36)
    .padStart(length, '0');
}
