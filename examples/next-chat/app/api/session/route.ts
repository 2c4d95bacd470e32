import { cookies } from 'next/headers';
import type { Session } from '../../../lib/session';

/** The visitor's thread. Its id is known to this server and this browser only. */
const THREAD_COOKIE = 'signalbox_thread';
const MAY = ['post', 'read', 'cancel', 'approve'];

/**
 * Hands the browser a token for its own thread, which it creates on the first visit. The API key stays here.
 *
 * A page with users who sign in looks the thread up by the user instead of by the cookie.
 */
export async function POST(): Promise<Response> {
  const jar = await cookies();
  const known = jar.get(THREAD_COOKIE)?.value;
  const token = known === undefined ? undefined : await createToken(known);
  if (known !== undefined && token !== undefined) return Response.json(sessionOf(known, token));

  const created = await call('COLLECTION_THREADS_CREATE', {
    data: { title: 'Web chat', virtual_mcp_id: setting('SIGNALBOX_AGENT_ID') },
  });
  const { item } = (await succeeded(created)) as { item: { id: string } };
  const first = await createToken(item.id);
  if (first === undefined) throw new Error('The new thread is gone.');
  jar.set(THREAD_COOKIE, item.id, { httpOnly: true, sameSite: 'lax', path: '/' });
  return Response.json(sessionOf(item.id, first));
}

type Token = { token: string; expires_at: string };

/** A token for 15 minutes; undefined if the thread does not exist any more. */
async function createToken(threadId: string): Promise<Token | undefined> {
  const response = await call('THREAD_TOKEN_CREATE', { thread_id: threadId, permissions: MAY });
  return response.status === 404 ? undefined : ((await succeeded(response)) as Token);
}

function sessionOf(threadId: string, { token, expires_at }: Token): Session {
  return { api: apiUrl(), agentId: setting('SIGNALBOX_AGENT_ID'), threadId, token, expiresAt: expires_at };
}

function call(tool: string, input: object): Promise<Response> {
  return fetch(`${apiUrl()}/tools/${tool}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${setting('SIGNALBOX_API_KEY')}`, 'content-type': 'application/json' },
    body: JSON.stringify(input),
  });
}

async function succeeded(response: Response): Promise<unknown> {
  if (!response.ok) throw new Error(`Signalbox answered ${response.status}: ${await response.text()}`);
  return response.json();
}

/** The service and the organization. */
function apiUrl(): string {
  return `${setting('SIGNALBOX_URL')}/api/${process.env.SIGNALBOX_ORG ?? 'default'}`;
}

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`Set ${name} in .env.local.`);
  return value;
}
