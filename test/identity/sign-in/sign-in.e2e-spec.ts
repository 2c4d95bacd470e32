import { describe, expect, it } from '@jest/globals';
import { startTestService } from '../../support/service.js';
import { addPerson, Browser, hiddenFieldsOf, newEmail, PASSWORD } from './people.js';
import { useStarted } from '../../support/use-started.js';

const service = useStarted(startTestService);

async function personWithBrowser() {
  const email = newEmail();
  const id = await addPerson(service, { email, name: 'Ada' });
  return { id, email, browser: new Browser(service.url) };
}

describe('signing in', () => {
  it('opens a session with the right password, and says who is signed in', async () => {
    const { email, browser } = await personWithBrowser();
    const answer = await browser.signIn(email.toUpperCase());
    expect({ status: answer.status, location: answer.headers['location'] }).toEqual({
      status: 303,
      location: '/sign-in',
    });
    expect((await browser.get('/sign-in')).text).toContain('Signed in as Ada');
    expect(answer.headers['set-cookie']).toContainEqual(
      expect.stringMatching(/^sbx_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=/),
    );
  });

  it('leads to a page that shows the organizations of the person', async () => {
    const { id, email, browser } = await personWithBrowser();
    await browser.signIn(email);
    expect((await browser.get('/sign-in')).text).toMatch(new RegExp(`Role in ${service.org}</dt>\\s*<dd>member`));
    const where = { field: ['user_id'], operator: 'eq', value: id };
    const { body } = await service.tool('MEMBER_LIST', { where }).expect(200);
    await service.tool('MEMBER_REMOVE', { id: body.items[0].id }).expect(200);
    expect((await browser.get('/sign-in')).text).toContain('You are not a member of any organization.');
  });

  it('answers a wrong password and an unknown address with the same page', async () => {
    const { email, browser } = await personWithBrowser();
    const wrong = await browser.signIn(email, 'wrong password 123');
    const unknown = await browser.signIn(newEmail(), PASSWORD);
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    const comparable = (text: string) => text.replaceAll(/value="[^"]*"/g, '');
    expect(comparable(wrong.text)).toBe(comparable(unknown.text));
    expect(wrong.text).not.toContain('wrong password 123');
  });

  it('changes the session id, and ends the former session', async () => {
    const { email, browser } = await personWithBrowser();
    await browser.signIn(email);
    const first = browser.cookies.get('sbx_session');
    const { csrf_token: token } = hiddenFieldsOf((await browser.get('/sign-in')).text);
    await browser.post('/sign-in', { csrf_token: token ?? '', email, password: PASSWORD });
    expect(browser.cookies.get('sbx_session')).not.toBe(first);
    const former = new Browser(service.url);
    former.cookies.set('sbx_session', first ?? '');
    expect((await former.get('/sign-in')).text).toContain('Password');
  });

  it('does not adopt a session id that somebody else chose', async () => {
    const { email, browser } = await personWithBrowser();
    const planted = 'a'.repeat(43);
    browser.cookies.set('sbx_session', planted);
    await browser.signIn(email);
    expect(browser.cookies.get('sbx_session')).not.toBe(planted);
    const attacker = new Browser(service.url);
    attacker.cookies.set('sbx_session', planted);
    expect((await attacker.get('/sign-in')).text).not.toContain('Ada');
  });

  it('is no credential for the API', async () => {
    const { email, browser } = await personWithBrowser();
    await browser.signIn(email);
    expect((await browser.get(`/api/${service.org}/tools`)).status).toBe(401);
    expect((await browser.post(`/api/${service.org}/tools/API_KEY_LIST`, {})).status).toBe(401);
  });

  it('ends with signing out', async () => {
    const { email, browser } = await personWithBrowser();
    await browser.signIn(email);
    const session = browser.cookies.get('sbx_session') ?? '';
    expect((await browser.submit('/sign-in', {})).status).toBe(303);
    browser.cookies.set('sbx_session', session);
    expect((await browser.get('/sign-in')).text).not.toContain('Ada');
  });
});

describe('CSRF', () => {
  it('refuses forms without the token of the browser', async () => {
    const { email, browser } = await personWithBrowser();
    const other = new Browser(service.url);
    const { csrf_token: token = '' } = hiddenFieldsOf((await other.get('/sign-in')).text);
    const fields = { email, password: PASSWORD };
    for (const given of [{}, { csrf_token: '' }, { csrf_token: token }]) {
      const answer = await browser.post('/sign-in', { ...fields, ...given } as Record<string, string>);
      expect(answer.status).toBe(403);
      expect(answer.headers['content-type']).toContain('text/html');
      await browser.get('/sign-in');
    }
    expect(browser.cookies.has('sbx_session')).toBe(false);
    await browser.signIn(email);
    expect((await browser.post('/sign-out', { csrf_token: token })).status).toBe(403);
    expect((await browser.get('/sign-in')).text).toContain('Ada');
  });

  it('refuses what the browser declares as coming from another site', async () => {
    const { email, browser } = await personWithBrowser();
    await browser.get('/sign-in');
    browser.headers = { 'sec-fetch-site': 'cross-site' };
    expect((await browser.signIn(email)).status).toBe(403);
    browser.headers = { 'sec-fetch-site': 'same-origin' };
    expect((await browser.signIn(email)).status).toBe(303);
  });
});

describe('several sign-in pages of one browser', () => {
  it('go on when one of them has signed in', async () => {
    const { email, browser } = await personWithBrowser();
    const targets = ['/first?a=b', '/second', '/third'];
    const forms = [];
    for (const target of targets) {
      const page = await browser.get(`/sign-in?return_to=${encodeURIComponent(target)}`);
      forms.push({ ...hiddenFieldsOf(page.text), email, password: PASSWORD });
    }
    const stranger = new Browser(browser.url);
    for (const [index, form] of forms.entries()) {
      expect((await browser.post('/sign-in', form)).headers['location']).toBe(targets[index]);
      expect((await stranger.post('/sign-in', form)).status).toBe(403);
    }
    // Not as another person than the one who was to sign in.
    const other = { ...forms[1], email: newEmail() };
    expect((await browser.post('/sign-in', other)).headers['location']).toBe('/sign-in');
  });
});

describe('return_to', () => {
  it.each(['/connections/1/authorize?a=b%2F%2Fc', '/oauth/authorize?redirect_uri=https%3A%2F%2Fclient.example%2Fcb'])(
    'leads to a path of the service: %s',
    async (path) => {
      const { email, browser } = await personWithBrowser();
      const signIn = `/sign-in?return_to=${encodeURIComponent(path)}`;
      expect((await browser.signIn(email, PASSWORD, signIn)).headers['location']).toBe(path);
      expect((await browser.get(signIn)).headers['location']).toBe(path);
    },
  );

  it.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/%2Fevil.example',
    '/%5Cevil.example',
    '/%252Fevil.example',
    '/.//evil.example',
    '/x/..//evil.example',
    '/\t/evil.example',
    '/%09/evil.example',
    ' //evil.example',
    'javascript:alert(1)',
    'evil.example',
    '',
  ])('does not lead elsewhere: %s', async (target) => {
    const { email, browser } = await personWithBrowser();
    const signIn = `/sign-in?return_to=${encodeURIComponent(target)}`;
    const page = await browser.get(signIn);
    expect(page.text).not.toContain('evil.example');
    const { csrf_token: token = '' } = hiddenFieldsOf(page.text);
    const answer = await browser.post('/sign-in', { csrf_token: token, return_to: target, email, password: PASSWORD });
    expect(answer.headers['location']).toBe('/sign-in');
  });
});
