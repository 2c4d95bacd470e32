/** What the browser needs to talk to its thread. */
export interface Session {
  api: string;
  agentId: string;
  threadId: string;
  /** A browser token of this thread only. */
  token: string;
  expiresAt: string;
}

const RENEW_BEFORE_MS = 60_000;

let current: Promise<Session> | undefined;

/**
 * The session of this page, with a token that is still valid for a minute. Calls at the same time share one request.
 */
export function session(): Promise<Session> {
  current = next(current);
  return current;
}

async function next(previous: Promise<Session> | undefined): Promise<Session> {
  const known = await previous?.catch(() => undefined);
  if (known !== undefined && Date.parse(known.expiresAt) - Date.now() > RENEW_BEFORE_MS) return known;
  const renewed = await fetchSession();
  // The thread was deleted, or another tab of a first visit has created another one.
  if (known !== undefined && known.threadId !== renewed.threadId) location.reload();
  return renewed;
}

async function fetchSession(): Promise<Session> {
  const response = await fetch('/api/session', { method: 'POST' });
  if (!response.ok) throw new Error('The chat is not available.');
  return response.json() as Promise<Session>;
}
