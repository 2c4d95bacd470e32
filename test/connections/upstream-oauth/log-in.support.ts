import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type supertest from 'supertest';
import { connectTo } from '../../support/proxy-connections.js';
import { addKey, type Tenant } from '../../support/tenant.js';
import { addPerson, Browser, newEmail } from '../../identity/sign-in/people.js';
import { type OauthUpstream, startOauthUpstream } from './oauth-upstream.js';

const MAX_REDIRECTS = 20;

/** Makes a connection with `auth.type` oauth; returns its id. */
export function connectOauth(service: Tenant, { url }: { url: string }, auth: object = {}): Promise<string> {
  return connectTo(service, url, { auth: { type: 'oauth', ...auth } });
}

/** A person who is signed in with a browser. */
export interface Person {
  readonly id: string;
  readonly browser: Browser;
}

export async function signedIn(service: Tenant, role = 'owner'): Promise<Person> {
  const email = newEmail();
  const id = await addPerson(service, { email, role });
  const browser = new Browser(service.url);
  await browser.signIn(email);
  return { id, browser };
}

interface OauthFixture<Service extends Tenant> {
  readonly upstream: OauthUpstream;
  readonly service: Service;
  readonly owner: Person;
}

/**
 * Starts an upstream with an authorization server, and a service with an owner who is signed in, for the spec file or
 * the block that calls this.
 * @param onStarted gets them before the first test
 */
export function useOauthUpstream<Service extends Tenant>(
  start: () => Promise<Service>,
  onStarted: (started: OauthFixture<Service>) => void,
): void {
  let upstream: OauthUpstream | undefined;
  let service: Service | undefined;
  beforeAll(async () => {
    upstream = await startOauthUpstream();
    service = await start();
    onStarted({ upstream, service, owner: await signedIn(service) });
  });
  afterAll(async () => {
    await service?.close();
    await upstream?.close();
  });
  afterEach(() => {
    if (upstream !== undefined) upstream.intercept = () => false;
  });
}

/** A browser of its own for each log-in at the authorization server: follows its redirects and keeps its cookies. */
export async function answerOf(authorizationUrl: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = new URL(authorizationUrl);
  const { origin } = url;
  for (let redirects = 0; url.origin === origin; redirects++) {
    if (redirects > MAX_REDIRECTS) throw new Error(`The log-in does not end: ${url.href}`);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${url.href} answered ${response.status}: ${await response.text()}`);
    url = new URL(location, url);
  }
  return url;
}

/** Opens the page of a connection and follows its link; returns the answer, or that of the page if it has no link. */
export async function start({ browser }: Person, connectionId: string): Promise<supertest.Response> {
  const page = await browser.get(`/connections/${connectionId}/authorize`);
  const [, link] = /href="([^"]*\/authorize\/continue\?[^"]*)"/.exec(page.text) ?? [];
  return link === undefined ? page : browser.get(link.replaceAll('&amp;', '&'));
}

/** Begins the log-in; returns the address at the authorization server. */
export async function begin(person: Person, connectionId: string): Promise<string> {
  const response = await start(person, connectionId);
  if (response.status !== 303) throw new Error(`The log-in did not begin: ${response.status} ${response.text}`);
  return String(response.headers['location']);
}

/** Logs in at the upstream for the connection as `account`; returns the last page. */
export async function authorize(
  person: Person,
  upstream: OauthUpstream,
  connectionId: string,
  account = 'alice',
): Promise<supertest.Response> {
  upstream.account = account;
  const { pathname, search } = await answerOf(await begin(person, connectionId));
  return person.browser.get(pathname + search);
}

/** Makes a key of a person, with all permissions of that person. */
export async function keyOf(service: Tenant, { id: userId }: Person): Promise<string> {
  return (await addKey(service, { name: 'personal', userId })).key;
}
