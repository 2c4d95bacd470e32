import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addPerson, Browser, newEmail, PASSWORD } from '../sign-in/people.js';
import { follow } from './oauth-client.js';
import { authorizePath, type Flow, OauthFlows, REDIRECT } from './oauth-flows.js';

let flows: OauthFlows;

beforeAll(async () => {
  flows = await OauthFlows.start();
});
afterAll(() => flows?.close());

describe('an authorization request', () => {
  it.each([
    ['a redirect that differs by a character', { redirect_uri: `${REDIRECT}/` }],
    ['a redirect of another host', { redirect_uri: 'https://evil.example/callback' }],
    ['an unknown client', { client_id: 'nobody' }],
  ])('with %s is answered with a page, never with a redirect', async (_what, changes) => {
    const answer = await flows.browser.get(authorizePath(await flows.newFlow(changes)));
    expect(answer.status).toBe(400);
    expect(answer.headers['location']).toBeUndefined();
    expect(answer.text).toContain('This sign-in cannot continue');
    expect(answer.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });

  it.each([
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no resource', { resource: undefined }, 'invalid_target'],
    ['a resource of another service', { resource: 'https://other.example/api/default/mcp/self' }, 'invalid_target'],
    ['a resource that is no endpoint', { resource: 'PATH/docs' }, 'invalid_target'],
    ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
  ])('with %s gets no code', async (_what, changes, error) => {
    const resolved = Object.fromEntries(
      Object.entries(changes).map(([name, value]) => [name, value?.replace('PATH', flows.url)]),
    );
    const answer = await flows.answerOf(await flows.newFlow(resolved));
    expect(answer.get('error')).toBe(error);
    expect(answer.get('iss')).toBe(flows.url);
    expect(answer.get('state')).toBe('state');
    expect(answer.has('code')).toBe(false);
  });

  it('with several resources gets no code', async () => {
    const flow = await flows.newFlow();
    const answer = new URL(
      await follow(
        flows.browser,
        `${authorizePath(flow)}&resource=${encodeURIComponent(flows.url)}/api/${flows.app.org}`,
      ),
    );
    expect(answer.searchParams.get('error')).toBe('invalid_target');
  });

  it.each([
    ['of an organization that the person does not belong to', '/api/elsewhere'],
    ['of a connection that does not exist', '/api/:org/mcp/00000000-0000-4000-8000-000000000000'],
  ])('for a resource %s is denied', async (_what, at) => {
    const resource = flows.url + at.replace(':org', flows.app.org);
    expect((await flows.answerOf(await flows.newFlow({ resource }))).get('error')).toBe('access_denied');
  });

  it('that the person denies gets no code', async () => {
    expect((await flows.answerOf(await flows.newFlow(), 'deny')).get('error')).toBe('access_denied');
  });

  it('accepts any port of a loopback redirect, and no other difference', async () => {
    const answer = await follow(
      flows.browser,
      authorizePath(await flows.newFlow({ redirect_uri: REDIRECT.replace('33418', '40001') })),
    );
    expect(answer).toMatch(/^http:\/\/127\.0\.0\.1:40001\/callback\?code=/);
  });
});

describe('a client that wants the person to sign in again', () => {
  /** Follows redirects until the sign-in; returns its path. */
  async function signInOf(browser: Browser, path: string): Promise<string> {
    for (let at = path; ;) {
      if (at.startsWith('/sign-in')) return at;
      const { location } = (await browser.get(at)).headers;
      if (location === undefined) throw new Error(`There is no sign-in: ${at}`);
      const url = new URL(location, flows.url);
      if (url.origin !== flows.url) throw new Error(`There is no sign-in: ${url.href}`);
      at = url.pathname + url.search;
    }
  }

  it.each([
    ['prompt=login', { prompt: 'login' }],
    ['max_age', { max_age: '1800', scope: 'openid mcp' }],
  ])('is obeyed: %s', async (_what, changes) => {
    const browser = new Browser(flows.url);
    await browser.signIn(flows.email);
    await flows.app.query(
      "UPDATE browser_sessions SET created_at = created_at - interval '1 hour' WHERE created_at > now() - interval '1 hour'",
    );
    const flow = await flows.newFlow(changes);
    const path = await signInOf(browser, authorizePath(flow));
    expect((await browser.get(path)).text).toContain('asks you to sign in again');
    const back = new URL(path, flows.url).searchParams.get('return_to') ?? '';
    expect(await signInOf(browser, back)).toBe(path);
    expect((await browser.signIn(flows.email, PASSWORD, path)).headers['location']).toBe(back);
    expect(await follow(browser, back)).toMatch(/^http:\/\/127\.0\.0\.1:33418\/callback\?code=/);
  });

  it('gets the person who has signed in then, also another one', async () => {
    const browser = new Browser(flows.url);
    await browser.signIn(flows.email);
    const email = newEmail();
    await addPerson(flows.app, { email, role: 'admin' });
    const path = await signInOf(browser, authorizePath(await flows.newFlow({ prompt: 'login' })));
    const { location } = (await browser.signIn(email, PASSWORD, path)).headers;
    expect(await follow(browser, String(location))).toContain('?code=');
  });

  it('is not obeyed before the time of max_age', async () => {
    const browser = new Browser(flows.url);
    await browser.signIn(flows.email);
    const flow = await flows.newFlow({ max_age: '1800', scope: 'openid mcp' });
    expect(await follow(browser, authorizePath(flow))).toContain('?code=');
  });
});

describe('the consent page', () => {
  async function pageOf(flow: Flow): Promise<string> {
    const first = await flows.browser.get(authorizePath(flow));
    return String(first.headers['location']);
  }

  it('names the client, the organization and the connection, and allows the redirect of the client', async () => {
    const flow = await flows.newFlow({}, { client_name: '<b>Evil</b> client' });
    let at = await pageOf(flow);
    let page = await flows.browser.get(new URL(at, flows.url).pathname);
    while (page.headers['location'] !== undefined) {
      at = String(page.headers['location']);
      page = await flows.browser.get(new URL(at, flows.url).pathname);
    }
    expect(page.text).toContain('&lt;b&gt;Evil&lt;/b&gt; client');
    expect(page.text).not.toContain('<b>Evil');
    expect(page.headers['content-security-policy']).toContain('form-action');
    expect(page.headers['content-security-policy']).toContain('http://127.0.0.1:33418');
    expect(page.headers['referrer-policy']).toBe('no-referrer');
  });

  it('takes no decision without its CSRF token', async () => {
    const flow = await flows.newFlow();
    let at = new URL(await pageOf(flow), flows.url).pathname;
    let page = await flows.browser.get(at);
    while (page.headers['location'] !== undefined) {
      at = new URL(String(page.headers['location']), flows.url).pathname;
      page = await flows.browser.get(at);
    }
    expect((await flows.browser.post(at, { decision: 'allow' })).status).toBe(403);
  });

  it('opens for nobody else', async () => {
    const at = new URL(await pageOf(await flows.newFlow()), flows.url).pathname;
    const other = new Browser(flows.url);
    const email = newEmail();
    await addPerson(flows.app, { email, role: 'admin' });
    await other.signIn(email);
    expect((await other.get(at)).status).toBe(404);
  });

  it('sends a browser that is not signed in to the sign-in', async () => {
    const stranger = new Browser(flows.url);
    const first = await stranger.get(authorizePath(await flows.newFlow()));
    const second = await stranger.get(new URL(String(first.headers['location']), flows.url).pathname);
    expect(second.headers['location']).toMatch(/^\/sign-in\?return_to=/);
  });
});
