import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestService, type TestService } from '../../support/service.js';
import { addPerson, Browser, newEmail } from './people.js';

let service: TestService;
/** Another process, which trusts no proxy. */
let direct: TestService;
let sources = 0;

beforeAll(async () => {
  service = await startTestService({ env: { TRUST_PROXY: '127.0.0.0/8' } });
  direct = await startTestService({ database: service.database });
});
afterAll(async () => {
  await direct?.close();
  await service?.close();
});

/** A browser at an address that no other test uses. */
function browserAt(source = `203.0.113.${++sources}`): Browser {
  const browser = new Browser(service.url);
  browser.headers = { 'x-forwarded-for': source };
  return browser;
}

async function fail(browser: Browser, email: string, times: number): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: times }, () => browser.signIn(email, 'not the password')));
  return answers.map(({ status }) => status).toSorted();
}

async function newPerson(): Promise<string> {
  const email = newEmail();
  await addPerson(service, { email, name: 'Ada' });
  return email;
}

describe('failed sign-ins', () => {
  it('lock an address out for its source after ten, also for the right password', async () => {
    const email = await newPerson();
    const browser = browserAt();
    await browser.get('/sign-in');
    expect(await fail(browser, email, 9)).toEqual(Array(9).fill(401));
    expect(await fail(browser, email, 3)).toEqual([401, 429, 429]);
    const answer = await browser.signIn(email.toUpperCase());
    expect(answer.status).toBe(429);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(900);
    expect(answer.text).toContain('Too many failed sign-ins. Try again in');
    expect((await browserAt().signIn(email)).status).toBe(303);
    const other = await newPerson();
    expect((await browser.signIn(other)).status).toBe(303);
  });

  it('are counted together for all spellings that the database takes for one address', async () => {
    const email = `kim.${newEmail()}`;
    await addPerson(service, { email, name: 'Ada' });
    const browser = browserAt();
    await browser.get('/sign-in');
    for (const spelled of [email.toUpperCase(), email.replace('kim', 'k\u0130m')]) {
      expect(await fail(browser, spelled, 5)).toEqual(Array(5).fill(401));
    }
    expect((await browser.signIn(email)).status).toBe(429);
  });

  it('are counted together by all processes', async () => {
    const email = await newPerson();
    // Without a proxy, both see the same address.
    const browser = new Browser(service.url);
    await browser.get('/sign-in');
    await fail(browser, email, 10);
    expect((await new Browser(direct.url).signIn(email)).status).toBe(429);
  });

  it('lock an unknown address out too', async () => {
    const browser = browserAt();
    await browser.get('/sign-in');
    const statuses = await fail(browser, newEmail(), 11);
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
  });

  it('are limited to 100 of one source, whatever the addresses', async () => {
    const browser = browserAt();
    await browser.get('/sign-in');
    for (let i = 0; i < 10; i++) expect(await fail(browser, newEmail(), 10)).toEqual(Array(10).fill(401));
    const email = await newPerson();
    expect((await browser.signIn(email)).status).toBe(429);
    expect((await browserAt().signIn(email)).status).toBe(303);
  });

  it('do not count successful ones', async () => {
    const email = await newPerson();
    const source = `203.0.113.${++sources}`;
    for (let i = 0; i < 12; i++) expect((await browserAt(source).signIn(email)).status).toBe(303);
  });

  it('of other browsers do not lock out a browser that was signed in to the account', async () => {
    const email = await newPerson();
    const own = browserAt();
    await own.signIn(email);
    own.cookies.delete('sbx_session');
    const stranger = browserAt(own.headers['x-forwarded-for']);
    await stranger.get('/sign-in');
    await fail(stranger, email, 12);
    expect((await stranger.signIn(email)).status).toBe(429);
    expect((await own.signIn(email)).status).toBe(303);
    own.cookies.delete('sbx_session');
    await own.get('/sign-in');
    expect(await fail(own, email, 11)).toEqual([...Array(10).fill(401), 429]);
  });

  it('of an account are not excused by the cookie of another account or by a forged one', async () => {
    const [email, other] = [await newPerson(), await newPerson()];
    const browser = browserAt();
    await browser.signIn(other);
    browser.cookies.delete('sbx_session');
    await browser.get('/sign-in');
    await fail(browser, email, 10);
    expect((await browser.signIn(email)).status).toBe(429);
    browser.cookies.set('sbx_known', 'Zm9yZ2Vk');
    expect((await browser.signIn(email)).status).toBe(429);
  });
});

it('a forwarded address counts only from a trusted proxy', async () => {
  const email = await newPerson();
  const browser = new Browser(direct.url);
  await browser.get('/sign-in');
  for (let i = 0; i < 10; i++) {
    browser.headers = { 'x-forwarded-for': `198.51.100.${i}` };
    await browser.signIn(email, 'not the password');
  }
  browser.headers = { 'x-forwarded-for': '198.51.100.99' };
  expect((await browser.signIn(email)).status).toBe(429);
});

describe('a person who is locked out', () => {
  it('signs in again with the browser in which a reset link was used', async () => {
    const email = await newPerson();
    const browser = browserAt();
    await browser.get('/sign-in');
    await fail(browser, email, 10);
    expect((await browser.signIn(email)).status).toBe(429);
    const where = { field: ['email'], operator: 'eq', value: email };
    const members = await service.tool('MEMBER_LIST', { where }).expect(200);
    const { body } = await service.tool('MEMBER_RESET', { id: members.body.items[0].id }).expect(200);
    const { pathname, search } = new URL(body.reset_url);
    const password = 'walnut kettle orbit marble';
    await browser.submit(pathname + search, { password });
    await browser.submit('/sign-in', {});
    expect((await browser.signIn(email, password)).status).toBe(303);
    expect((await browserAt(browser.headers['x-forwarded-for']).signIn(email, password)).status).toBe(429);
  });
});
