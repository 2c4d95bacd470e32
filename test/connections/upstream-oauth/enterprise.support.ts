import { randomUUID } from 'node:crypto';
import type { TestService } from '../../support/service.js';
import type { Tenant } from '../../support/tenant.js';
import type { Issuer } from '../../identity/sign-in/issuer.js';
import { addPerson, Browser, newEmail } from '../../identity/sign-in/people.js';
import { connectTo } from '../../support/proxy-connections.js';
import { keyOf, type Person } from './log-in.support.js';
import { ENTERPRISE_CLIENT } from './oauth-upstream.js';

/** A person of the issuer. */
export interface Employee extends Person {
  readonly sub: string;
  readonly email: string;
  /** A key of the person, with all permissions. */
  readonly key: string;
}

/** Makes a connection whose upstream takes assertions of the issuer; returns its id. */
export function connectEnterprise(service: Tenant, url: string, auth: object = {}): Promise<string> {
  return connectTo(service, url, { auth: { type: 'enterprise', ...ENTERPRISE_CLIENT, ...auth } });
}

/** A member of the organization who has an account at the issuer, and is not signed in. */
export async function employ(service: TestService, role = 'owner'): Promise<Employee> {
  const email = newEmail();
  const id = await addPerson(service, { email, role, password: null });
  await service.query('UPDATE users SET email_verified_at = now() WHERE id = $1', [id]);
  const browser = new Browser(service.url);
  return { id, email, sub: `sub-${randomUUID()}`, browser, key: await keyOf(service, { id, browser }) };
}

/** Signs the person in with the issuer, in the browser of the person or in another one. */
export async function signInAt(issuer: Issuer, { sub, email, browser }: Employee, at = browser): Promise<void> {
  issuer.person = { sub, email, email_verified: true };
  const start = await at.get('/auth/oidc');
  const { pathname, search } = new URL(await issuer.authorize(String(start.headers['location'])));
  const { status, text } = await at.get(pathname + search);
  if (status !== 303) throw new Error(`The sign-in failed: ${status} ${text}`);
}

/** Answers every request to the token endpoint of the issuer. */
export function answerTokenRequests(issuer: Issuer, status: number, body: object): void {
  issuer.intercept = ({ url }, response) => {
    if (url !== '/token') return false;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    return true;
  };
}

/** The ID tokens of the person that the service keeps. */
export function keptTokensOf(service: TestService, { id }: Employee): Promise<{ tokens: string }[]> {
  const statement =
    'SELECT t.tokens FROM id_tokens t JOIN browser_sessions s ON s.id = t.session_id WHERE s.user_id = $1';
  return service.query(statement, [id]);
}

/** Lets the account of the person at the upstream expire. */
export async function expireAccount(service: TestService, { id }: Employee): Promise<void> {
  const statement =
    "UPDATE upstream_authorizations SET refresh_at = now() - interval '1 hour', expires_at = now() WHERE user_id = $1";
  await service.query(statement, [id]);
}
