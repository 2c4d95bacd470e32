/** The organization, connection and caller that a program runs for. */
export interface ProgramHolder {
  readonly organizationId: string;
  readonly connectionId: string;
  /** The caller for whom it runs; absent for a program that callers share. */
  readonly callerId?: string | undefined;
  /** Whose share of memory the messages for that caller use (`quotaHolderOf`); absent: the caller's own. */
  readonly quotaHolder?: string | undefined;
}

/** The slot of a program that runs or is about to start. */
export interface ProgramSlot {
  readonly holder: ProgramHolder;
  /** Ends the program, and resolves when it has ended. Undefined while the program is in use. */
  readonly makeRoom: (() => Promise<void>) | undefined;
  /** Milliseconds since it was last used. */
  readonly unusedMs: number;
}

/** A scope that has reached its limit of programs. */
type FullScope = 'caller' | 'connection' | 'organization' | 'service';

/** The scope in a sentence that says why it is full. */
export const LIMITED_HOLDER: Readonly<Record<FullScope, string>> = {
  caller: 'the caller has',
  connection: 'its sessions have',
  organization: 'the organization has',
  service: 'the service has',
};

/** The limit that prevents a start, and the slot to free for it, if there is one. */
interface Obstacle {
  readonly scope: FullScope;
  readonly slot: ProgramSlot | undefined;
}

/** How many programs can run at once. */
export interface Shares {
  /** In sessions of one API key. */
  readonly caller: number;
  /** In sessions with one connection, in addition to its shared program. */
  readonly connection: number;
  /** Of one organization, if others have STDIO connections too. */
  readonly organization: number;
  readonly service: number;
}

/** A quarter for one key, half for one connection, three quarters for one organization. */
export function sharesOf(maxProcesses: number): Shares {
  return {
    caller: Math.max(1, Math.floor(maxProcesses / 4)),
    connection: Math.max(1, Math.floor(maxProcesses / 2)),
    organization: Math.max(1, Math.floor((maxProcesses * 3) / 4)),
    service: maxProcesses,
  };
}

/**
 * The first limit that the newcomer's program would exceed; undefined if it can start. The slot to free is not in use.
 * Within an exhausted share, it is the least recently used one; in the whole service, one of the organization with the
 * most programs and its caller with the most, so that a holder never displaces one with fewer programs.
 * @param isAlone true if no other organization has STDIO connections
 */
export function findObstacle(
  newcomer: ProgramHolder,
  slots: readonly ProgramSlot[],
  shares: Shares,
  isAlone: boolean,
): Obstacle | undefined {
  for (const scope of ['caller', 'connection', 'organization', 'service'] as const) {
    if (scope === 'organization' && isAlone) continue;
    const inScope = slots.filter(({ holder }) => isWithin(scope, holder, newcomer));
    if (!isCounted(scope, newcomer) || inScope.length < shares[scope]) continue;
    return { scope, slot: slotToFree(newcomer, inScope) };
  }
  return undefined;
}

/** Shared programs are exempt from the limits on sessions, because all callers depend on what they list. */
function isCounted(scope: FullScope, { callerId }: ProgramHolder): boolean {
  return callerId !== undefined || scope === 'organization' || scope === 'service';
}

function isWithin(scope: FullScope, holder: ProgramHolder, newcomer: ProgramHolder): boolean {
  if (scope === 'service') return true;
  if (scope === 'organization') return holder.organizationId === newcomer.organizationId;
  if (scope === 'connection') return holder.callerId !== undefined && holder.connectionId === newcomer.connectionId;
  return holder.callerId === newcomer.callerId;
}

function slotToFree(newcomer: ProgramHolder, slots: readonly ProgramSlot[]): ProgramSlot | undefined {
  const organizations = countsBy(
    [newcomer, ...slots.map(({ holder }) => holder)],
    ({ organizationId }) => organizationId,
  );
  const callers = countsBy([newcomer, ...slots.map(({ holder }) => holder)], callerOf);
  return slots
    .filter(({ makeRoom }) => makeRoom !== undefined)
    .toSorted(
      (a, b) =>
        (organizations.get(b.holder.organizationId) ?? 0) - (organizations.get(a.holder.organizationId) ?? 0) ||
        (callers.get(callerOf(b.holder)) ?? 0) - (callers.get(callerOf(a.holder)) ?? 0) ||
        b.unusedMs - a.unusedMs,
    )[0];
}

function callerOf({ callerId, connectionId }: ProgramHolder): string {
  return callerId ?? `shared ${connectionId}`;
}

export function countsBy(
  holders: readonly ProgramHolder[],
  key: (holder: ProgramHolder) => string,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const holder of holders) counts.set(key(holder), (counts.get(key(holder)) ?? 0) + 1);
  return counts;
}
