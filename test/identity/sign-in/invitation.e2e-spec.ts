import { describe, expect, it } from '@jest/globals';
import { findMember, invite, pathOf } from '../organizations/organizations.support.js';
import { startTestService } from '../../support/service.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { addPerson, Browser, newEmail, PASSWORD } from './people.js';
import { eventually } from '../../support/eventually.js';
import { useStarted } from '../../support/use-started.js';

const service = useStarted(startTestService);

const ENTERED = { name: 'Grace', password: PASSWORD };

describe('the setup page', () => {
  it('makes the first owner, once', async () => {
    const { setupPath = '' } = service;
    expect(setupPath).toMatch(/^\/setup\?token=[\w-]{43}$/);
    const browser = new Browser(service.url);
    const email = newEmail();
    const weak = await browser.submit(setupPath, { name: 'Ada', email, password: 'a1b2c3d4e5f' });
    expect({ status: weak.status, text: weak.text }).toEqual({
      status: 422,
      text: expect.stringContaining('at least 12'),
    });
    expect((await browser.submit(setupPath, { name: '', email: 'x', password: PASSWORD })).text).toContain(
      'Enter your name',
    );
    expect((await browser.submit(setupPath, { name: 'Ada', email, password: PASSWORD })).status).toBe(303);
    expect(await findMember(service, email)).toMatchObject({ role: 'owner', name: 'Ada', status: 'active' });
    expect((await browser.get('/sign-in')).text).toContain('Signed in as Ada');
    expect((await browser.get(setupPath)).status).toBe(404);
    const next = await startTestService({ database: service.database });
    expect(next.setupPath).toBeUndefined();
    await next.close();
  });

  it('is replaced by the next start until it was used', async () => {
    const first = await startTestService();
    const second = await startTestService({ database: first.database });
    try {
      expect((await fetch(first.url + first.setupPath)).status).toBe(404);
      expect((await fetch(first.url + second.setupPath)).status).toBe(200);
    } finally {
      await second.close();
      await first.close();
    }
  });
});

describe('BOOTSTRAP_OWNER_EMAIL and BOOTSTRAP_OWNER_PASSWORD', () => {
  it('make the owner', async () => {
    const email = newEmail();
    const env = { BOOTSTRAP_OWNER_EMAIL: email, BOOTSTRAP_OWNER_PASSWORD: PASSWORD };
    const own = await startTestService({ env });
    try {
      expect(own.setupPath).toBeUndefined();
      expect(await findMember(own, email)).toMatchObject({ role: 'owner' });
      expect((await new Browser(own.url).signIn(email)).status).toBe(303);
    } finally {
      await own.close();
    }
  });

  it('take an unverified account from whoever made it, but not from who knows the password', async () => {
    const [email, password] = [newEmail(), 'walnut kettle orbit'];
    await addPerson(service, { email });
    const squatter = new Browser(service.url);
    await squatter.signIn(email);
    const owner = new Browser(service.url);
    for (const org of ['first', 'second']) {
      const env = { BOOTSTRAP_ORG: org, BOOTSTRAP_OWNER_EMAIL: email, BOOTSTRAP_OWNER_PASSWORD: password };
      await (await startTestService({ database: service.database, env })).close();
      if (org === 'first') expect((await owner.signIn(email, password)).status).toBe(303);
    }
    expect((await new Browser(service.url).signIn(email)).status).toBe(401);
    expect((await squatter.get('/sign-in')).text).not.toContain('Signed in as');
    expect((await owner.get('/sign-in')).text).toContain('Signed in as');
  });

  it('end the start for a weak password', async () => {
    const env = { BOOTSTRAP_OWNER_EMAIL: newEmail(), BOOTSTRAP_OWNER_PASSWORD: 'password1234' };
    await expect(startTestService({ env })).rejects.toThrow(
      /ended with 1: BOOTSTRAP_OWNER_PASSWORD is refused\. .*common/,
    );
  });
});

describe('an invitation', () => {
  it('creates an account, once', async () => {
    const email = newEmail();
    const path = await invite(service, email, 'admin');
    const browser = new Browser(service.url);
    expect((await browser.get(path)).text).toContain(email);
    expect((await browser.submit(path, { ...ENTERED, password: 'elevenchars' })).status).toBe(422);
    expect((await browser.submit(path, { ...ENTERED, email: 'other@example.com' })).status).toBe(303);
    expect(await findMember(service, email)).toMatchObject({ role: 'admin', status: 'active', name: 'Grace' });
    expect((await new Browser(service.url).signIn(email)).status).toBe(303);
    expect((await browser.get(path)).status).toBe(404);
    const sql = 'SELECT email_verified_at IS NOT NULL AS verified FROM users WHERE email = $1';
    expect(await service.query(sql, [email])).toEqual([{ verified: false }]);
  });

  it('is used by one of several at once', async () => {
    const email = newEmail();
    const path = await invite(service, email);
    const answers = await Promise.all(
      [1, 2, 3, 4].map((index) => new Browser(service.url).submit(path, { ...ENTERED, name: `Person ${index}` })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 303)).toHaveLength(1);
    expect(statuses.every((status) => [303, 403, 404, 409].includes(status))).toBe(true);
  });

  it('expires', async () => {
    const { body } = await service
      .tool('MEMBER_INVITE', { email: newEmail(), role: 'member', expiresIn: 1 })
      .expect(200);
    const path = pathOf(body.invitation_url);
    const browser = new Browser(service.url);
    const listed = async (): Promise<number> =>
      (await service.tool('MEMBER_LIST', { where: { field: ['id'], operator: 'eq', value: body.item.id } })).body
        .totalCount;
    // The page and the list each learn the time of the database, so one can be a few milliseconds ahead of the other.
    await eventually(async () => expect([(await browser.get(path)).status, await listed()]).toEqual([404, 0]));
  });

  it('of an address with an account is accepted signed in as it, and sets no password', async () => {
    const email = newEmail();
    const { slug, tool } = await startSecondOrganization(service, `second-${Date.now()}`);
    await addPerson(service, { email, name: 'Ada' });
    const { body } = await tool('MEMBER_INVITE', { email, role: 'admin' });
    const path = pathOf(body.invitation_url);
    const browser = new Browser(service.url);
    const page = await browser.get(path);
    expect(page.text).toContain(`/sign-in?return_to=${encodeURIComponent(path)}`);
    expect(page.text).not.toContain('password');

    const stranger = new Browser(service.url);
    const { csrf_token: token = '' } = Object.fromEntries(
      [...(await stranger.get('/sign-in')).text.matchAll(/name="(csrf_token)" value="([^"]*)"/g)].map(([, k, v]) => [
        k,
        v,
      ]),
    );
    const fields = { csrf_token: token, token: new URL(path, service.url).searchParams.get('token') ?? '' };
    expect((await stranger.post('/invitation', { ...fields, ...ENTERED, password: `${PASSWORD} 2` })).status).toBe(403);

    const other = new Browser(service.url);
    const otherEmail = newEmail();
    await addPerson(service, { email: otherEmail });
    await other.signIn(otherEmail);
    expect((await other.get(path)).text).toContain('Sign out and continue');

    expect(
      (await browser.signIn(email, PASSWORD, `/sign-in?return_to=${encodeURIComponent(path)}`)).headers['location'],
    ).toBe(path);
    expect((await browser.submit(path, {})).status).toBe(303);
    const members = (await tool('MEMBER_LIST', {})).body.items;
    expect({ slug, members }).toMatchObject({ members: [{ email, role: 'admin', status: 'active' }] });
    expect((await new Browser(service.url).signIn(email)).status).toBe(303);
  });

  it('needs a CSRF token', async () => {
    const path = await invite(service, newEmail());
    const token = new URL(path, service.url).searchParams.get('token') ?? '';
    for (const target of ['/invitation', '/setup', '/reset']) {
      expect((await new Browser(service.url).post(target, { token, ...ENTERED })).status).toBe(403);
    }
  });
});

describe('a password reset', () => {
  it('sets a password once, and ends all sessions', async () => {
    const email = newEmail();
    await addPerson(service, { email, name: 'Ada' });
    const signedIn = new Browser(service.url);
    await signedIn.signIn(email);
    const { id } = await findMember(service, email);
    const { body } = await service.tool('MEMBER_RESET', { id }).expect(200);
    const path = pathOf(body.reset_url);
    const browser = new Browser(service.url);
    expect((await browser.submit(path, { password: 'elevenchars' })).status).toBe(422);
    expect((await browser.submit(path, { password: 'walnut kettle orbit' })).status).toBe(303);
    expect((await browser.get('/sign-in')).text).toContain('Ada');
    expect((await signedIn.get('/sign-in')).text).not.toContain('Ada');
    expect((await new Browser(service.url).signIn(email)).status).toBe(401);
    expect((await new Browser(service.url).signIn(email, 'walnut kettle orbit')).status).toBe(303);
    expect((await browser.get(path)).status).toBe(404);
  });

  it('is not given to a caller for a person of several organizations', async () => {
    const email = newEmail();
    await addPerson(service, { email });
    const { id } = await findMember(service, email);
    const { body: made } = await service.tool('MEMBER_RESET', { id }).expect(200);
    const path = pathOf(made.reset_url);
    const { tool } = await startSecondOrganization(service, `third-${Date.now()}`);
    const { body } = await tool('MEMBER_INVITE', { email, role: 'member' });
    const browser = new Browser(service.url);
    await browser.signIn(email);
    await browser.submit(pathOf(body.invitation_url), {});
    expect((await service.tool('MEMBER_RESET', { id })).status).toBe(409);
    expect((await new Browser(service.url).submit(path, { password: 'walnut kettle orbit' })).status).toBe(404);
    expect((await new Browser(service.url).signIn(email)).status).toBe(303);
  });
});
