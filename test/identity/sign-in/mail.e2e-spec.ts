import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { PasswordResets } from '../../../src/identity/organizations/password-resets.js';
import { findMember, pathOf } from '../organizations/organizations.support.js';
import { ConsoleBrowser } from '../../console/console.support.js';
import { createAgent } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { callProxy, errorIn, pathOf as proxyPathOf, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { eventually } from '../../support/eventually.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { authorize, connectOauth, keyOf } from '../../connections/upstream-oauth/log-in.support.js';
import { startOauthUpstream } from '../../connections/upstream-oauth/oauth-upstream.js';
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
    const second = await startSecondOrganization(service, `flood-${Date.now()}`);
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
    const second = await startSecondOrganization(service, `phish-${Date.now()}`);
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

describe('an account whose address nobody has verified', () => {
  const next = 'walnut kettle orbit';

  /** Somebody who kept the link of an invitation has made the account, and a key; returns both. */
  async function squat(email: string): Promise<{ browser: Browser; key: string }> {
    const { body } = await service.tool('MEMBER_INVITE', { email, role: 'admin' }).expect(200);
    const browser = new Browser(service.url);
    expect((await browser.submit(pathOf(body.invitation_url), { name: 'Mallory', password: PASSWORD })).status).toBe(
      303,
    );
    const { user_id: id } = await findMember(service, email);
    // The mail of this invitation comes before that of the next one.
    await mailedPath(email);
    return { browser, key: await keyOf(service, { id: String(id), browser }) };
  }

  async function expectEnded(email: string, { browser, key }: { browser: Browser; key: string }): Promise<void> {
    expect((await browser.get('/sign-in')).text).not.toContain('Signed in');
    expect((await service.tool('MEMBER_LIST', {}, key)).status).toBe(401);
    expect((await new Browser(service.url).signIn(email)).status).toBe(401);
    expect((await new Browser(service.url).signIn(email, next)).status).toBe(303);
  }

  it('goes to the owner of the address, with a mailed invitation only', async () => {
    const email = newEmail();
    const squatter = await squat(email);
    const second = await startSecondOrganization(service, `third-${Date.now()}`);
    smtp.messages.length = 0;
    const { body } = await second.tool('MEMBER_INVITE', { email, role: 'member' }).expect(200);
    const shown = await new Browser(service.url).get(pathOf(body.invitation_url));
    expect(shown.text).not.toContain('New password');
    const owner = new Browser(service.url);
    const path = await mailedPath(email);
    expect((await owner.get(path)).text).toContain('nobody has shown yet that the address is theirs');
    expect((await owner.submit(path, { name: 'Ada', password: next })).status).toBe(303);
    expect((await owner.get('/sign-in')).text).toContain('Signed in as Ada');
    expect(await isVerified(email)).toBe(true);
    const { items } = (await second.tool('MEMBER_LIST', {})).body;
    expect(items).toEqual([expect.objectContaining({ email, name: 'Ada', status: 'active' })]);
    await expectEnded(email, squatter);
    // Now that it is verified, nobody else can take it.
    const third = await startSecondOrganization(service, `fourth-${Date.now()}`);
    smtp.messages.length = 0;
    await third.tool('MEMBER_INVITE', { email, role: 'member' }).expect(200);
    expect((await new Browser(service.url).get(await mailedPath(email))).text).not.toContain('New password');
  });

  it('goes to whom the operator gives a link', async () => {
    const email = newEmail();
    const squatter = await squat(email);
    const token = await service.app.get(PasswordResets, { strict: false }).createToken(email);
    const owner = new Browser(service.url);
    expect((await owner.get(`/reset?token=${token}`)).text).toContain('deletes the API keys');
    expect((await owner.submit(`/reset?token=${token}`, { password: next })).status).toBe(303);
    await expectEnded(email, squatter);
    expect((await new Browser(service.url).get(`/reset?token=${token}`)).status).toBe(404);
  });
});

/** The ways in which an owner gets a squatted account; each returns the page and what is entered there. */
const WAYS: readonly (readonly [title: string, open: (email: string) => Promise<[path: string, fields: object]>])[] = [
  [
    'a mailed invitation',
    async (email) => {
      const other = await startSecondOrganization(service, `way-${Date.now()}`);
      await other.tool('MEMBER_INVITE', { email, role: 'member' }).expect(200);
      return [await mailedPath(email), { name: 'Ada' }];
    },
  ],
  [
    'a mailed reset',
    async (email) => {
      const { id } = await findMember(service, email);
      await service.tool('MEMBER_RESET', { id }).expect(200);
      return [await mailedPath(email), {}];
    },
  ],
  [
    'a link of the operator',
    async (email) => [
      `/reset?token=${await service.app.get(PasswordResets, { strict: false }).createToken(email)}`,
      {},
    ],
  ],
];

it.each(WAYS)('all that its former owner has made ends with %s', async (_title, open) => {
  const upstream = await startOauthUpstream();
  const connectionId = await connectOauth(service, upstream, { account: 'member' });
  const email = newEmail();
  const id = await addPerson(service, { email, role: 'admin' });
  const squatter = new ConsoleBrowser(service.url);
  await squatter.signIn(email);
  const key = await keyOf(service, { id, browser: squatter.browser });
  await authorize({ id, browser: squatter.browser }, upstream, connectionId, 'mallory');
  const whoami = (as: string) =>
    callProxy(service, proxyPathOf(service, connectionId), { key: as, body: toolCall('whoami') });
  expect(rpcOf(await whoami(key)).result?.content?.[0]?.text).toBe('mallory');
  const invited = await squatter.tool('MEMBER_INVITE', { email: newEmail(), role: 'member' });
  const data = { title: 'x', virtual_mcp_id: await createAgent(service), cron: '0 0 1 1 *', message: 'x' };
  const schedule = (await squatter.tool('SCHEDULE_CREATE', { data })).body.item;
  expect(schedule).toMatchObject({ enabled: true });

  smtp.messages.length = 0;
  const [path, fields] = await open(email);
  const owner = new Browser(service.url);
  expect((await owner.submit(path, { ...fields, password: 'walnut kettle orbit' })).status).toBe(303);

  await eventually(async () => expect((await service.tool('MEMBER_LIST', {}, key)).status).toBe(401));
  expect((await new Browser(service.url).get(pathOf(invited.body.invitation_url))).status).toBe(404);
  const { item } = (await service.tool('SCHEDULE_GET', { id: schedule.id }).expect(200)).body;
  expect(item).toMatchObject({ enabled: false, disabled_reason: expect.stringContaining('another owner') });
  const own = await keyOf(service, { id, browser: owner });
  await eventually(async () => {
    expect(errorIn(await whoami(own))?.data?.code).toBe('upstream_authorization_required');
  });
  await upstream.close();
});

describe('a mailed reset', () => {
  it('sets the password of a person of several organizations, and verifies the address', async () => {
    const email = newEmail();
    await addPerson(service, { email });
    const second = await startSecondOrganization(service, `second-${Date.now()}`);
    const invited = await second.tool('MEMBER_INVITE', { email, role: 'member' });
    const browser = new Browser(service.url);
    await browser.signIn(email);
    await browser.submit(pathOf(invited.body.invitation_url), {});
    // The invitation is also mailed, a moment after its answer.
    await mailedPath(email);
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
