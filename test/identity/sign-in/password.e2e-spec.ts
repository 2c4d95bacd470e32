import { describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { UserService } from '../../../src/identity/users/user.service.js';
import { McpOauthClient } from '../oauth/oauth-client.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { Issuer } from './issuer.js';
import { addPerson, Browser, hiddenFieldsOf, newEmail, PASSWORD } from './people.js';
import { useStarted } from '../../support/use-started.js';

const NEW_PASSWORD = 'walnut kettle orbit marble';
const MAX_FAILURES = 10;

const service = useStarted(startTestApp);

interface Person {
  id: string;
  email: string;
  browser: Browser;
}

async function signedIn(): Promise<Person> {
  const email = newEmail();
  const id = await addPerson(service, { email, name: 'Ada', role: 'admin' });
  const browser = new Browser(service.url);
  await browser.signIn(email);
  return { id, email, browser };
}

function change(browser: Browser, current: string, password: string) {
  return browser.submit('/password', { current_password: current, password });
}

async function canSignIn(email: string, password: string): Promise<boolean> {
  return (await new Browser(service.url).signIn(email, password)).status === 303;
}

describe('changing the password', () => {
  it('is linked from the page of a signed-in person', async () => {
    const { browser } = await signedIn();
    expect((await browser.get('/sign-in')).text).toContain('href="/password"');
  });

  it('replaces the password, and keeps this browser signed in with a new session', async () => {
    const { email, browser } = await signedIn();
    const before = browser.cookies.get('sbx_session');
    const answer = await change(browser, PASSWORD, NEW_PASSWORD);
    expect([answer.status, answer.headers['location']]).toEqual([303, '/password/changed']);
    expect((await browser.get('/password/changed')).text).toContain('Your password is changed');
    expect(browser.cookies.get('sbx_session')).not.toBe(before);
    const former = new Browser(service.url);
    former.cookies.set('sbx_session', before ?? '');
    expect((await former.get('/sign-in')).text).not.toContain('Signed in as');
    expect([await canSignIn(email, PASSWORD), await canSignIn(email, NEW_PASSWORD)]).toEqual([false, true]);
  });

  it('ends all other sessions and all grants of the person, and nothing of other people', async () => {
    const [person, other] = [await signedIn(), await signedIn()];
    const elsewhere = new Browser(service.url);
    await elsewhere.signIn(person.email);
    const [own, foreign] = await Promise.all(
      [person, other].map(
        async ({ browser }) =>
          (await new McpOauthClient().authorize(`${service.url}/api/default`, browser)).access_token,
      ),
    );
    const statusOf = async (token = '') =>
      (await supertest(service.url).get('/api/default/tools').set('authorization', `Bearer ${token}`)).status;
    expect([await statusOf(own), await statusOf(foreign)]).toEqual([200, 200]);
    await change(person.browser, PASSWORD, NEW_PASSWORD);
    expect((await elsewhere.get('/sign-in')).text).not.toContain('Signed in as');
    await eventually(async () => expect(await statusOf(own)).toBe(401));
    expect(await statusOf(foreign)).toBe(200);
    expect((await other.browser.get('/sign-in')).text).toContain('Signed in as');
  });

  it('is on record', async () => {
    const { id, browser } = await signedIn();
    await change(browser, PASSWORD, NEW_PASSWORD);
    const where = { field: ['target_id'], operator: 'eq', value: id };
    const { body } = await service.tool('AUDIT_EVENTS_LIST', { where }).expect(200);
    expect(body.items[0]).toMatchObject({ event: 'password.changed', actor: { user_id: id }, target: { id } });
  });

  it('asks for a sign-in first, and returns to the page after it', async () => {
    const { email } = await signedIn();
    const browser = new Browser(service.url);
    for (const path of ['/password', '/password/changed']) {
      expect((await browser.get(path)).headers['location']).toBe('/sign-in?return_to=%2Fpassword');
    }
    const { csrf_token = '' } = hiddenFieldsOf((await browser.get('/sign-in')).text);
    const answer = await browser.post('/password', { csrf_token, current_password: PASSWORD, password: NEW_PASSWORD });
    expect(answer.headers['location']).toBe('/sign-in?return_to=%2Fpassword');
    expect(await canSignIn(email, PASSWORD)).toBe(true);
  });
});

describe('a password does not change', () => {
  it.each([
    ['with a wrong current password', 'wrong wrong wrong', NEW_PASSWORD, 'The current password is wrong.'],
    ['without the current password', '', NEW_PASSWORD, 'Enter your current password.'],
    ['to a short one', PASSWORD, 'too short', 'must have at least 12 characters'],
    ['to a common one', PASSWORD, 'password1234', 'too common'],
    ['to itself', PASSWORD, PASSWORD, 'the same as the current one'],
  ])('%s', async (_what, current, password, message) => {
    const { email, browser } = await signedIn();
    const session = browser.cookies.get('sbx_session');
    const answer = await change(browser, current, password);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain(message);
    expect(answer.text).not.toContain(`value="${password}"`);
    expect(browser.cookies.get('sbx_session')).toBe(session);
    expect(await canSignIn(email, PASSWORD)).toBe(true);
  });

  it('without the CSRF token of the browser', async () => {
    const [{ email, browser }, other] = [await signedIn(), await signedIn()];
    const { csrf_token: foreign = '' } = hiddenFieldsOf((await other.browser.get('/password')).text);
    for (const csrf_token of ['', foreign]) {
      const fields = { current_password: PASSWORD, password: NEW_PASSWORD, csrf_token };
      expect((await browser.post('/password', fields)).status).toBe(403);
    }
    expect(await canSignIn(email, PASSWORD)).toBe(true);
  });

  it('after too many wrong current passwords, even with the right one; failed sign-ins of this browser count too', async () => {
    const { browser, email } = await signedIn();
    const { csrf_token = '' } = hiddenFieldsOf((await browser.get('/sign-in')).text);
    expect((await browser.post('/sign-in', { csrf_token, email, password: 'wrong wrong wrong' })).status).toBe(401);
    for (let failures = 1; failures < MAX_FAILURES; failures++) {
      expect((await change(browser, 'wrong wrong wrong', NEW_PASSWORD)).status).toBe(422);
    }
    const answer = await change(browser, PASSWORD, NEW_PASSWORD);
    expect(answer.status).toBe(429);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(await canSignIn(email, NEW_PASSWORD)).toBe(false);
  });

  it('if it was reset since the current one was verified', async () => {
    const { id, email } = await signedIn();
    const users = service.app.get(UserService, { strict: false });
    const verified = await users.verifyPassword(email, PASSWORD);
    if (verified === undefined) throw new Error('The password is not verified.');
    const [reset, late] = [
      await users.hashPassword(NEW_PASSWORD),
      await users.hashPassword('another orbit marble kettle'),
    ];
    await users.transaction((manager) => users.setPassword(manager, id, reset));
    const change = users.transaction((manager) => users.replacePassword(manager, verified, late));
    await expect(change).rejects.toMatchObject({ code: 'conflict' });
    expect(await canSignIn(email, NEW_PASSWORD)).toBe(true);
  });
});

describe('a person without a password', () => {
  it('learns where the password is', async () => {
    const other: TestApp[] = [];
    const issuer = await Issuer.start(() => other.map(({ url }) => `${url}/auth/oidc/callback`));
    try {
      const app = await startTestApp({ env: issuer.env() });
      other.push(app);
      const email = newEmail();
      await addPerson(app, { email, password: null });
      issuer.person = { sub: 'grace', email, email_verified: true };
      const browser = new Browser(app.url);
      const { location } = (await browser.get('/auth/oidc')).headers;
      const { pathname, search } = new URL(await issuer.authorize(String(location)));
      await browser.get(pathname + search);
      const page = await browser.get('/password');
      expect(page.text).toContain(`You sign in with ${new URL(issuer.url).host}`);
      expect(page.text).not.toContain('name="current_password"');
      const { csrf_token = '' } = hiddenFieldsOf((await browser.get('/sign-in')).text);
      await browser.post('/password', { csrf_token, current_password: '', password: NEW_PASSWORD });
      expect((await new Browser(app.url).signIn(email, NEW_PASSWORD)).status).toBe(401);
    } finally {
      for (const app of other) await app.close();
      issuer.close();
    }
  });
});
