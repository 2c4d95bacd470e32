import { SignalboxError } from '../../../packages/client/src/signalbox-error.js';
import { watchedFetch } from './reachability.js';

/** Tools by resource: `self`, or the id of a connection or an agent. `*` stands for all. */
export type PermissionMap = Readonly<Record<string, readonly string[]>>;

/** An organization that the caller can use, and what the caller can do in it. */
export interface Membership {
  readonly slug: string;
  readonly name: string;
  /** Null for an API key. */
  readonly role: string | null;
  readonly permissions: PermissionMap;
}

/** The answer of `GET /console/session`. */
export interface Session {
  readonly csrf_token: string;
  readonly sign_in: { readonly provider: string | null; readonly provider_path: string | null };
  readonly user: { readonly id: string; readonly email: string; readonly name: string } | null;
  readonly organizations: readonly Membership[];
}

const PATH = '/console/session';

/** Who is signed in with this browser. @throws SignalboxError */
export function readSession(): Promise<Session> {
  return request('GET', {});
}

/** What an API key opens. Nothing is stored: the console keeps the key in memory. @throws SignalboxError */
export function readSessionOfKey(apiKey: string): Promise<Session> {
  return request('GET', { authorization: `Bearer ${apiKey}` });
}

/** @throws SignalboxError `credential_invalid`, `too_many_requests` */
export function signIn(csrfToken: string, email: string, password: string): Promise<Session> {
  return request('POST', { 'x-csrf-token': csrfToken, 'content-type': 'application/json' }, { email, password });
}

/** Ends the browser's session. @throws SignalboxError */
export async function signOut(csrfToken: string): Promise<void> {
  await send('DELETE', { 'x-csrf-token': csrfToken });
}

async function request(method: string, headers: Record<string, string>, body?: unknown): Promise<Session> {
  return (await (await send(method, headers, body)).json()) as Session;
}

async function send(method: string, headers: Record<string, string>, body?: unknown): Promise<Response> {
  const response = await watchedFetch(PATH, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw await SignalboxError.of(response);
  return response;
}
