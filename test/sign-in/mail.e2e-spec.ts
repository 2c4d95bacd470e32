import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { findMember, pathOf } from '../organizations/organizations.support.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { startSecondOrganization } from '../support/second-organization.js';
import { addPerson, Browser, newEmail, PASSWORD } from './people.js';
import { SmtpServer } from './smtp-server.js';

let smtp: SmtpServer;
let service: TestApp;

beforeAll(async () => {
  smtp = await SmtpServer.start();
  service = await startTestApp({ env: { SMTP_URL: smtp.url } });
});
afterAll(async () => {
  await service?.close();
  smtp?.close();
});

async function mailedPath(email: string): Promise<string> {
  const [url = ''] = /http:\/\/\S+/.exec(await smtp.messageTo(email)) ?? [];
  expect(url.startsWith(service.url)).toBe(true);
  return pathOf(url);
}

async function isVerified(email: string): Promise<boolean> {
  const query = 'SELECT email_verified_at IS NOT NULL AS verified FROM users WHERE email = $1';
  const [row] = await service.app.get(DataSource).query(query, [email]);
  return row.verified;
}

describe('a mailed invitation', () => {
  it('has a link of its own, which verifies the address', async () => {
    const email = newEmail();
    const { body } = await service.tool('MEMBER_INVITE', { email, role: 'member' }).expect(200);
    const path = await mailedPath(email);
    expect(path).toMatch(/^\/invitation\?token=[\w-]{43}$/);
    expect(path).not.toBe(pathOf(body.invitation_url));
    expect((await new Browser(service.url).submit(path, { name: 'Ada', password: PASSWORD })).status).toBe(303);
    expect(await isVerified(email)).toBe(true);
    expect((await new Browser(service.url).get(pathOf(body.invitation_url))).status).toBe(404);
  });

  it('leaves the address unverified if the link of the caller is used', async () => {
    const email = newEmail();
    const { body } = await service.tool('MEMBER_INVITE', { email, role: 'member' }).expect(200);
    const path = pathOf(body.invitation_url);
    expect((await new Browser(service.url).submit(path, { name: 'Ada', password: PASSWORD })).status).toBe(303);
    expect(await isVerified(email)).toBe(false);
  });
});

describe('an invitation by mail', () => {
  it('is sent three times a day to one address, for an organization', async () => {
    const email = newEmail();
    const invite = (organization: Pick<typeof second, 'tool'>, to = email) =>
      organization.tool('MEMBER_INVITE', { email: to, role: 'member' });
    const second = await startSecondOrganization(service.app, service.url, `flood-${Date.now()}`);
    const own = { tool: (name: string, body: object) => service.tool(name, body) };
    const flood = await Promise.all(Array.from({ length: 12 }, () => invite(own, email.toUpperCase())));
    expect(flood.filter(({ status }) => status === 200)).toHaveLength(3);
    const refused = flood.find(({ status }) => status !== 200);
    expect(refused?.body).toMatchObject({ status: 429, code: 'too_many_requests' });
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
    await invite(second).expect(200);
    await invite(own, newEmail()).expect(200);
  });

  it('shows the name of the organization without links', async () => {
    const second = await startSecondOrganization(service.app, service.url, `phish-${Date.now()}`);
    const name = 'Your bill: https://evil.example/pay or boss@evil.example';
    await second.tool('ORGANIZATION_UPDATE', { name }).expect(200);
    const email = newEmail();
    const { body } = await second.tool('MEMBER_INVITE', { email, role: 'member' }).expect(200);
    const mail = await smtp.messageTo(email);
    const page = (await new Browser(service.url).get(pathOf(body.invitation_url))).text;
    for (const text of [mail, page]) {
      expect(text).toContain('evil[.]example');
      expect(text).not.toMatch(/evil\.example|https:\/\/evil/);
    }
  });
});

describe('a mailed reset', () => {
  it('sets the password of a person of several organizations, and verifies the address', async () => {
    const email = newEmail();
    await addPerson(service, { email });
    const second = await startSecondOrganization(service.app, service.url, `second-${Date.now()}`);
    const invited = await second.tool('MEMBER_INVITE', { email, role: 'member' });
    const browser = new Browser(service.url);
    await browser.signIn(email);
    await browser.submit(pathOf(invited.body.invitation_url), {});
    smtp.messages.length = 0;
    const { id } = await findMember(service, email);
    await service.tool('MEMBER_RESET', { id }).expect(200, { reset_url: null });
    const path = await mailedPath(email);
    expect((await new Browser(service.url).submit(path, { password: 'walnut kettle orbit' })).status).toBe(303);
    expect(await isVerified(email)).toBe(true);
    expect((await new Browser(service.url).signIn(email, 'walnut kettle orbit')).status).toBe(303);
  });
});

it('a mail server that is away does not fail the tool', async () => {
  const own = await startTestApp({ env: { SMTP_URL: 'smtp://127.0.0.1:1' } });
  await own.tool('MEMBER_INVITE', { email: newEmail(), role: 'member' }).expect(200);
  await own.close();
});
