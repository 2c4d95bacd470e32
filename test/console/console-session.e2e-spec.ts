import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addPerson, Browser, newEmail, PASSWORD } from '../identity/sign-in/people.js';
import { startTestService, type TestService } from '../support/service.js';
import { expectProblem } from '../support/problem.js';
import { ConsoleBrowser, signedIn } from './console.support.js';

const EVERYTHING = { self: ['*'], '*': ['*'] };

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());

describe('GET /console/session', () => {
  it('tells a caller without a session how to sign in, and gives a CSRF token', async () => {
    const answer = await new ConsoleBrowser(service.url).readSession();
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['set-cookie']).toContainEqual(expect.stringMatching(/^sbx_visitor=/));
    expect(answer.body).toEqual({
      csrf_token: expect.stringMatching(/^[\w-]{43}$/),
      sign_in: { provider: null, provider_path: null },
      user: null,
      organizations: [],
    });
  });

  it('shows the person, the organizations and what the person may do there', async () => {
    const { id, email, person } = await signedIn(service, { role: 'member', name: 'Grace' });
    await service.tool('ORGANIZATION_UPDATE', { member_permissions: { self: ['RUN_LIST'] } }).expect(200);
    try {
      expect((await person.readSession()).body).toMatchObject({
        user: { id, email, name: 'Grace' },
        organizations: [{ slug: 'default', name: 'default', role: 'member', permissions: { self: ['RUN_LIST'] } }],
      });
    } finally {
      await service.tool('ORGANIZATION_UPDATE', { member_permissions: {} }).expect(200);
    }
  });

  it('knows a browser that signed in on the page', async () => {
    const email = newEmail();
    await addPerson(service, { email, role: 'admin' });
    const person = new ConsoleBrowser(service.url);
    await person.browser.signIn(email);
    const { body } = await person.readSession();
    expect(body).toMatchObject({ user: { email }, organizations: [{ role: 'admin', permissions: EVERYTHING }] });
    expect((await person.tool('API_KEY_LIST')).status).toBe(200);
  });

  it('finds the organization of a key', async () => {
    const permissions = { self: ['RUN_LIST'] };
    const { key } = (await service.tool('API_KEY_CREATE', { name: 'narrow', permissions }).expect(200)).body;
    const { body } = await new ConsoleBrowser(service.url).readSession({ authorization: `Bearer ${key}` });
    expect(body).toEqual({
      csrf_token: expect.any(String),
      sign_in: { provider: null, provider_path: null },
      user: null,
      organizations: [{ slug: 'default', name: 'default', role: null, permissions }],
    });
  });

  it('finds the person of a key, whoever is signed in', async () => {
    const { id, email, name, person } = await signedIn(service);
    const { body: made } = await person.tool('API_KEY_CREATE', { name: 'mine', permissions: { self: ['RUN_LIST'] } });
    const other = await signedIn(service, { name: 'Other' });
    const { body } = await other.person.readSession({ authorization: `Bearer ${made.key}` });
    expect(body).toMatchObject({ user: { id, email, name }, organizations: [{ role: null }] });
  });

  it('refuses a bad key and a browser token', async () => {
    const stranger = new ConsoleBrowser(service.url);
    const bad = await stranger.readSession({ authorization: 'Bearer sbx_bad' });
    expectProblem(bad, 401, 'credential_invalid');
    expect(bad.headers['www-authenticate']).toContain('error="invalid_token"');
    const { item: agent } = (await service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'A' } })).body;
    const data = { title: 'T', virtual_mcp_id: agent.id };
    const { item: thread } = (await service.tool('COLLECTION_THREADS_CREATE', { data })).body;
    const input = { thread_id: thread.id, permissions: ['read'] };
    const { token } = (await service.tool('THREAD_TOKEN_CREATE', input).expect(200)).body;
    expectProblem(await stranger.readSession({ authorization: `Bearer ${token}` }), 403, 'permission_denied');
  });

  it('is not readable for pages of other origins', async () => {
    const answer = await new ConsoleBrowser(service.url).readSession({ origin: 'https://evil.example' });
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  });
});

describe('POST /console/session', () => {
  it('signs in, with a new session and its token', async () => {
    const email = newEmail();
    const id = await addPerson(service, { email, name: 'Ada' });
    const person = new ConsoleBrowser(service.url);
    await person.readSession();
    const visitorToken = person.csrfToken;
    const answer = await person.signIn(email.toUpperCase());
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.body).toMatchObject({ user: { id, email, name: 'Ada' }, organizations: [{ slug: 'default' }] });
    expect(answer.headers['set-cookie']).toContainEqual(
      expect.stringMatching(/^sbx_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=/),
    );
    expect(person.csrfToken).not.toBe(visitorToken);
    expect((await person.readSession()).body.csrf_token).toBe(answer.body.csrf_token);
    const where = { field: ['event'], operator: 'eq', value: 'login.succeeded' };
    const { items } = (await service.tool('AUDIT_EVENTS_LIST', { where }).expect(200)).body;
    expect(items).toContainEqual(expect.objectContaining({ actor: expect.objectContaining({ user_id: id }) }));
  });

  it('refuses a wrong password', async () => {
    const email = newEmail();
    await addPerson(service, { email });
    const person = new ConsoleBrowser(service.url);
    const problem = expectProblem(await person.signIn(email, 'wrong password 123'), 401, 'credential_invalid');
    expect(problem.detail).toBe('The e-mail address or the password is wrong.');
    expectProblem(await person.signIn(newEmail()), 401, 'credential_invalid');
    expect(person.browser.cookies.has('sbx_session')).toBe(false);
  });

  it('limits failed attempts as the page does', async () => {
    const email = newEmail();
    await addPerson(service, { email });
    const person = new ConsoleBrowser(service.url);
    for (let i = 0; i < 10; i++) await person.signIn(email, 'wrong password 123');
    const refused = await person.signIn(email);
    expectProblem(refused, 429, 'too_many_requests');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const page = new Browser(service.url);
    expect((await page.signIn(email)).status).toBe(429);
  });

  it('needs the token of this browser, sent from this origin', async () => {
    const email = newEmail();
    await addPerson(service, { email });
    const other = new ConsoleBrowser(service.url);
    await other.readSession();
    const person = new ConsoleBrowser(service.url);
    await person.readSession();
    const body = { email, password: PASSWORD };
    const post = (headers: Record<string, string>) =>
      person.browser.send('post', '/console/session', { body, headers });
    expectProblem(await post({}), 403, 'csrf_invalid');
    expectProblem(await post(other.headers), 403, 'csrf_invalid');
    expectProblem(await post({ ...person.headers, 'sec-fetch-site': 'cross-site' }), 403, 'csrf_invalid');
    expect((await post({ ...person.headers, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  });

  it.each([
    ['no password', { email: 'ada@example.com' }],
    ['a number', { email: 'ada@example.com', password: 7 }],
    ['a NUL character', { email: 'ada@example.com\u0000', password: PASSWORD }],
    ['more', { email: 'ada@example.com', password: PASSWORD, remember: true }],
  ])('refuses a body with %s', async (_what, body) => {
    const person = new ConsoleBrowser(service.url);
    await person.readSession();
    const answer = await person.browser.send('post', '/console/session', { body, headers: person.headers });
    expect(answer.status).toBe(400);
  });

  it('reads no large body', async () => {
    const person = new ConsoleBrowser(service.url);
    await person.readSession();
    const body = { email: 'a'.repeat(20_000), password: PASSWORD };
    const answer = await person.browser.send('post', '/console/session', { body, headers: person.headers });
    expectProblem(answer, 413, 'body_too_large');
  });
});

describe('DELETE /console/session', () => {
  it('signs out', async () => {
    const { person } = await signedIn(service);
    const session = person.browser.cookies.get('sbx_session') ?? '';
    expectProblem(await person.browser.send('delete', '/console/session'), 403, 'csrf_invalid');
    expect((await person.readSession()).body.user).not.toBeNull();
    expect((await person.signOut()).status).toBe(204);
    expect(person.browser.cookies.has('sbx_session')).toBe(false);
    person.browser.cookies.set('sbx_session', session);
    expect((await person.readSession()).body.user).toBeNull();
  });
});

describe('the console', () => {
  it('is where the start page and the page of a signed-in person lead', async () => {
    const browser = new Browser(service.url);
    expect((await browser.send('get', '/')).body).toMatchObject({ console: '/console' });
    expect((await browser.send('get', '/', { headers: { accept: 'text/html' } })).text).toContain('href="/console"');
    const { person } = await signedIn(service);
    expect((await person.browser.get('/sign-in')).text).toContain('href="/console"');
  });

  it('is left out with CONSOLE=off, and so are browsers as callers', async () => {
    const { person } = await signedIn(service);
    expect((await person.tool('API_KEY_LIST')).status).toBe(200);
    const without = await startTestService({ database: service.database, env: { CONSOLE: 'off' } });
    try {
      const there = new ConsoleBrowser(without.url);
      there.csrfToken = person.csrfToken;
      for (const [name, value] of person.browser.cookies) there.browser.cookies.set(name, value);
      for (const method of ['get', 'post', 'delete'] as const) {
        const answer = await there.browser.send(method, '/console/session', { headers: there.headers });
        expectProblem(answer, 404, 'unknown_route');
      }
      expectProblem(await there.tool('API_KEY_LIST'), 401, 'credential_missing');
      expect((await there.browser.send('get', '/')).body).not.toHaveProperty('console');
      expect((await there.browser.get('/sign-in')).text).not.toContain('/console');
    } finally {
      await without.close();
    }
  });
});
