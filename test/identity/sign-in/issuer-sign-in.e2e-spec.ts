import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findMember, invite } from '../organizations/organizations.support.js';
import { startTestService, type TestService } from '../../support/service.js';
import { eventually } from '../../support/eventually.js';
import { keyOf } from '../../connections/upstream-oauth/log-in.support.js';
import { Issuer } from './issuer.js';
import { addPerson, Browser, newEmail } from './people.js';

let issuer: Issuer;
let service: TestService;

beforeAll(async () => {
  issuer = await Issuer.start(() => [`${service.url}/auth/oidc/callback`]);
  service = await startTestService({ env: issuer.env() });
});
afterAll(async () => {
  await service?.close();
  issuer?.close();
});

/** Starts in this browser, authenticates at the issuer, and returns the path of the callback. */
async function authorize(browser: Browser, query = ''): Promise<string> {
  const start = await browser.get(`/auth/oidc${query}`);
  expect(start.status).toBe(303);
  const { pathname, search } = new URL(await issuer.authorize(start.headers['location'] ?? ''));
  expect(pathname).toBe('/auth/oidc/callback');
  return pathname + search;
}

async function signIn(browser = new Browser(service.url), query = '') {
  return browser.get(await authorize(browser, query));
}

const nameOf = async (browser: Browser) => /Signed in as ([^<·]*?)\s*·/.exec((await browser.get('/sign-in')).text)?.[1];

describe('signing in with an issuer', () => {
  it('is offered on the page', async () => {
    const page = await new Browser(service.url).get('/sign-in?return_to=%2Fsomewhere');
    expect(page.text).toContain('href="/auth/oidc?return_to=%2Fsomewhere"');
    expect(page.text).toContain(`Sign in with ${new URL(issuer.url).host}`);
  });

  it('joins the invited member by a verified address, and identifies the person by sub later', async () => {
    const email = newEmail();
    await invite(service, email, 'admin');
    issuer.person = { sub: 'sub-1', email: email.toUpperCase(), email_verified: true, name: 'Ada' };
    const browser = new Browser(service.url);
    const answer = await signIn(browser, '?return_to=%2Fsign-in%3Fback');
    expect({ status: answer.status, location: answer.headers['location'] }).toEqual({
      status: 303,
      location: '/sign-in?back',
    });
    expect(await nameOf(browser)).toBe('Ada');
    const { email: joined } = await findMember(service, email.toUpperCase());
    expect(joined).toBe(email.toUpperCase());

    issuer.person = { sub: 'sub-1', email: newEmail(), email_verified: false, name: 'Changed' };
    const later = new Browser(service.url);
    await signIn(later);
    expect(await nameOf(later)).toBe('Ada');
  });

  it('can be in progress several times in one browser', async () => {
    const email = newEmail();
    await invite(service, email);
    issuer.person = { sub: 'sub-several', email, email_verified: true };
    const browser = new Browser(service.url);
    const paths = ['%2Ffirst', '%2Fsecond'].map((target) => `?return_to=${target}`);
    const callbacks = [await authorize(browser, paths[0]), await authorize(browser, paths[1])];
    for (const [index, target] of ['/first', '/second'].entries()) {
      expect((await browser.get(callbacks[index] ?? '')).headers['location']).toBe(target);
    }
  });

  it('asks the issuer for another sign-in where the client wants one', async () => {
    const { headers } = await new Browser(service.url).get('/auth/oidc?again=1');
    expect(new URL(String(headers['location'])).searchParams.get('prompt')).toBe('login');
  });

  it('refuses people without an invitation, and addresses that are not verified', async () => {
    const email = newEmail();
    issuer.person = { sub: 'sub-2', email, email_verified: true };
    expect((await signIn()).status).toBe(403);
    await invite(service, email);
    for (const verified of [{}, { email_verified: false }]) {
      issuer.person = { sub: 'sub-2', email, ...verified };
      expect((await signIn()).status).toBe(403);
    }
    expect(await findMember(service, email)).toMatchObject({ status: 'invited' });
  });

  it('takes no address for that of another person because of the case of its letters', async () => {
    const email = `kim.${newEmail()}`;
    await addPerson(service, { email, role: 'admin' });
    for (const spelled of [email.replace('kim', '\u212Aim'), email.replace('kim', 'k\u0130m')]) {
      issuer.person = { sub: `sub-of-${spelled}`, email: spelled, email_verified: true };
      expect((await signIn()).status).toBe(403);
    }
  });

  it('removes a password that was set before the address was verified, its sessions, and the keys of the account', async () => {
    const email = newEmail();
    const id = await addPerson(service, { email, name: 'Ada' });
    const squatter = new Browser(service.url);
    expect((await squatter.signIn(email)).status).toBe(303);
    const key = await keyOf(service, { id, browser: squatter });
    issuer.person = { sub: 'sub-3', email, email_verified: true };
    expect((await signIn()).status).toBe(303);
    expect(await nameOf(squatter)).toBeUndefined();
    await eventually(async () => expect((await service.tool('ORGANIZATION_GET', {}, key)).status).toBe(401));
    expect((await new Browser(service.url).signIn(email)).status).toBe(401);
  });

  it('refuses another person of the issuer with the same address', async () => {
    const email = newEmail();
    await invite(service, email);
    issuer.person = { sub: 'sub-4', email, email_verified: true };
    expect((await signIn()).status).toBe(303);
    issuer.person = { sub: 'sub-5', email, email_verified: true };
    expect((await signIn()).status).toBe(403);
  });
});

describe('the callback', () => {
  it('belongs to the browser that started, and works once', async () => {
    const email = newEmail();
    await invite(service, email);
    issuer.person = { sub: 'sub-6', email, email_verified: true, name: 'Ada' };
    const browser = new Browser(service.url);
    const callback = await authorize(browser);
    const victim = new Browser(service.url);
    expect((await victim.get(callback)).status).toBe(403);
    const other = new Browser(service.url);
    await other.get('/auth/oidc');
    expect((await other.get(callback)).status).toBe(403);
    expect((await browser.get(callback)).status).toBe(303);
    expect((await browser.get(callback)).status).toBe(403);
  });

  it('refuses a changed state, an error and a foreign code', async () => {
    const tamper = async (change: (query: URLSearchParams) => void) => {
      const browser = new Browser(service.url);
      const url = new URL(await authorize(browser), service.url);
      change(url.searchParams);
      return (await browser.get(url.pathname + url.search)).status;
    };
    expect(await tamper((query) => query.set('state', 'other'))).toBe(403);
    expect(await tamper((query) => query.set('code', 'other'))).toBe(403);
    expect(await tamper((query) => query.set('iss', 'https://evil.example'))).toBe(403);
    expect(await tamper((query) => query.set('error', 'access_denied'))).toBe(403);
  });

  it('does not exist without an issuer', async () => {
    const own = await startTestService();
    expect((await new Browser(own.url).get('/auth/oidc')).status).toBe(404);
    expect((await new Browser(own.url).get('/auth/oidc/callback')).status).toBe(404);
    await own.close();
  });
});
