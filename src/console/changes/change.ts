/** What can change in an organization. `resync`: changes may have been left out, so read again what you show. */
export type ChangeType = 'run' | 'thread' | 'connection' | 'approval' | 'schedule' | 'webhook' | 'resync';

/** A change, as streams show it. */
export interface Change {
  readonly type: ChangeType;
  /** The id of what changed; absent for `resync`. */
  readonly id?: string;
  /** The thread of a run or an approval. */
  readonly thread_id?: string;
  /**
   * The status now; an approval is `requested` or `closed`, a schedule or webhook `enabled` or `disabled`, and what no
   * longer exists is `deleted`. A run or webhook can change without another status: the run goes on, or a delivery was
   * tried.
   */
  readonly status?: string;
  /** When the service noticed the change, in ISO 8601. */
  readonly at: string;
}

/** Something that can change, at one moment. */
export interface Observed {
  readonly organizationId: string;
  readonly type: Exclude<ChangeType, 'resync'>;
  readonly id: string;
  readonly threadId: string | null;
  readonly status: string;
  /** Differs whenever the thing differs. */
  readonly revision: string;
}

/** By type and id. */
export type Snapshot = ReadonlyMap<string, Observed>;

export function snapshotOf(observed: readonly Observed[]): Snapshot {
  return new Map(observed.map((each) => [`${each.type} ${each.id}`, each]));
}

/**
 * What changed between two snapshots. Threads and finished runs leave the snapshots silently; an approval that leaves
 * is closed, and anything else is deleted.
 */
export function changesBetween(before: Snapshot, after: Snapshot, at: string): Change[] {
  const changed = [...after]
    .filter(([key, { revision }]) => before.get(key)?.revision !== revision)
    .map(([, each]) => toChange(each, each.status, at));
  const gone = [...before]
    .filter(([key]) => !after.has(key))
    .flatMap(([, each]) => {
      const end = endOf(each);
      return end === undefined ? [] : [toChange(each, end, at)];
    });
  return [...changed, ...gone];
}

/** The statuses of runs that are not over. */
export const OPEN_RUNS: readonly string[] = ['queued', 'running', 'waiting'];

function endOf({ type, status }: Observed): string | undefined {
  if (type === 'approval') return 'closed';
  return type === 'thread' || (type === 'run' && !OPEN_RUNS.includes(status)) ? undefined : 'deleted';
}

function toChange({ type, id, threadId }: Observed, status: string, at: string): Change {
  return { type, id, ...(threadId !== null && { thread_id: threadId }), status, at };
}
