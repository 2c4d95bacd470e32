/** `p2.` before a session id: the session has state in process 2 of its service. */
const PREFIX = /^p(\d{1,2})\./;

/** The session id of a process among several, which requests with it are passed to. */
export function withSlot(sessionId: string, slot: number): string {
  return `p${slot}.${sessionId}`;
}

/** Also for ids of a time when the service had more processes. */
export function withoutSlot(sessionId: string): string {
  return sessionId.replace(PREFIX, '');
}

/** The number of the process whose session it is; undefined if any process can continue it. */
export function slotOf(sessionId: string | undefined): number | undefined {
  const slot = sessionId === undefined ? undefined : PREFIX.exec(sessionId)?.[1];
  return slot === undefined ? undefined : Number(slot);
}
