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

/** The session of this page, with a token that is still valid for a minute. */
export async function session(): Promise<Session> {
  const known = await current?.catch(() => undefined);
  if (known !== undefined && Date.parse(known.expiresAt) - Date.now() > RENEW_BEFORE_MS) return known;
  current = renew();
  return current;
}

async function renew(): Promise<Session> {
  const response = await fetch('/api/session', { method: 'POST' });
  if (!response.ok) throw new Error('The chat is not available.');
  return response.json() as Promise<Session>;
}
