import { createHash, randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import supertest from 'supertest';
import { connectOauth } from '../../connections/upstream-oauth/log-in.support.js';
import { type OauthUpstream, startOauthUpstream } from '../../connections/upstream-oauth/oauth-upstream.js';
import { addPerson, Browser, newEmail, PASSWORD } from '../../identity/sign-in/people.js';
import { startTestService, type TestService } from '../../support/service.js';

const REDIRECT = 'http://127.0.0.1:33418/callback';
const NEW_PASSWORD = 'walnut kettle orbit marble';

/** A service without an owner, with people, and an upstream that demands OAuth. */
export class PagesFixture {
  private constructor(
    readonly service: TestService,
    private readonly upstream: OauthUpstream,
    /** A connection whose account is not authorized. */
    readonly connectionId: string,
  ) {}

  static async start(): Promise<PagesFixture> {
    const upstream = await startOauthUpstream();
    const service = await startTestService({
      // The sign-in page offers it. No test follows the link.
      env: { OIDC_ISSUER: 'https://issuer.example', OIDC_CLIENT_ID: 'signalbox', OIDC_CLIENT_SECRET: 'secret' },
    });
    return new PagesFixture(service, upstream, await connectOauth(service, upstream));
  }

  async close(): Promise<void> {
    await this.service.close();
    await this.upstream.close();
  }

  address(path: string): string {
    return this.service.url + path;
  }

  /** Adds a person, and signs that person in with the browser. */
  async signIn(page: Page, { role = 'admin', name = 'Ada Lovelace' } = {}): Promise<{ id: string; email: string }> {
    const email = newEmail();
    const id = await addPerson(this.service, { email, name, role });
    const browser = new Browser(this.service.url);
    await browser.signIn(email);
    const value = browser.cookies.get('sbx_session') ?? '';
    await page.context().addCookies([{ name: 'sbx_session', value, url: this.service.url }]);
    return { id, email };
  }

  /** Signs in a person who has an account and is not a member any more. */
  async leaver(page: Page): Promise<{ email: string }> {
    const { id, email } = await this.signIn(page);
    await this.service.tool('MEMBER_REMOVE', { id: await this.memberIdOf('user_id', id) }).expect(200);
    return { email };
  }

  async invite(email = newEmail()): Promise<string> {
    const { body } = await this.service.tool('MEMBER_INVITE', { email, role: 'admin' }).expect(200);
    return body.invitation_url;
  }

  /** A link that sets a new password: of this member, or of a new one. */
  async resetLink(email?: string): Promise<string> {
    if (email === undefined) return this.resetLink(await this.addMember());
    const id = await this.memberIdOf('email', email);
    return (await this.service.tool('MEMBER_RESET', { id }).expect(200)).body.reset_url;
  }

  private async addMember(): Promise<string> {
    const email = newEmail();
    await addPerson(this.service, { email });
    return email;
  }

  private async memberIdOf(field: 'email' | 'user_id', value: string): Promise<string> {
    const where = { field: [field], operator: 'eq', value };
    const { body } = await this.service.tool('MEMBER_LIST', { where }).expect(200);
    return body.items[0].id;
  }

  /** The address of an authorization request of a client that has just registered. */
  async authorizationRequest(redirectUri = REDIRECT): Promise<string> {
    const { body } = await supertest(this.service.url)
      .post('/oauth/register')
      .send({ client_name: 'A client', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' })
      .expect(201);
    const params = new URLSearchParams({
      response_type: 'code',
      client_id: body.client_id,
      redirect_uri: redirectUri,
      code_challenge: createHash('sha256').update(randomBytes(32)).digest('base64url'),
      code_challenge_method: 'S256',
      resource: this.address(`/api/default/mcp/${this.connectionId}`),
      state: 'state',
    });
    return this.address(`/oauth/authorize?${params.toString()}`);
  }
}

/** Leads a browser to a page. */
type Open = (fixture: PagesFixture, page: Page) => Promise<unknown>;

/** Fills the fields in, by name, and presses the main button. */
export async function submit(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) await page.locator(`input[name="${name}"]`).fill(value);
  await page.locator('button[type="submit"]').first().click();
  await page.waitForLoadState();
}

/** Every page of the service: its heading, and how a person gets there. */
export const PAGES: readonly (readonly [what: string, heading: RegExp, open: Open])[] = [
  ['setup', /^Set up/, (fixture, page) => page.goto(fixture.address(fixture.service.setupPath ?? ''))],
  [
    'setup with faults',
    /^Set up/,
    async (fixture, page) => {
      await page.goto(fixture.address(fixture.service.setupPath ?? ''));
      await submit(page, { password: 'short' });
    },
  ],
  [
    'setup of a signed-in person',
    /^Set up/,
    async (fixture, page) => {
      await fixture.signIn(page);
      await page.goto(fixture.address(fixture.service.setupPath ?? ''));
    },
  ],
  ['a link that is not valid', /^Not found/, (fixture, page) => page.goto(fixture.address('/setup?token=none'))],
  ['sign-in', /^Sign in$/, (fixture, page) => page.goto(fixture.address('/sign-in'))],
  [
    'sign-in after a wrong password',
    /^Sign in$/,
    async (fixture, page) => {
      await page.goto(fixture.address('/sign-in'));
      await submit(page, { email: newEmail(), password: 'wrong wrong wrong' });
    },
  ],
  [
    'signed in',
    /^Signed in as Ada/,
    async (fixture, page) => {
      await fixture.signIn(page);
      await page.goto(fixture.address('/sign-in'));
    },
  ],
  [
    'a form that has expired',
    /^The form has expired/,
    async (fixture, page) => {
      await page.goto(fixture.address('/sign-in'));
      await page.context().clearCookies();
      await submit(page, { email: newEmail(), password: 'some password' });
    },
  ],
  [
    'password',
    /^Change your password/,
    async (fixture, page) => {
      await fixture.signIn(page);
      await page.goto(fixture.address('/password'));
    },
  ],
  [
    'password with faults',
    /^Change your password/,
    async (fixture, page) => {
      await fixture.signIn(page);
      await page.goto(fixture.address('/password'));
      await submit(page, { password: 'short' });
    },
  ],
  [
    'password without one',
    /^You have no password/,
    async (fixture, page) => {
      const { id } = await fixture.signIn(page);
      await fixture.service.query('UPDATE users SET password_hash = NULL WHERE id = $1', [id]);
      await page.goto(fixture.address('/password'));
    },
  ],
  [
    'password changed',
    /^Your password is changed/,
    async (fixture, page) => {
      await fixture.signIn(page);
      await page.goto(fixture.address('/password'));
      await submit(page, { current_password: PASSWORD, password: NEW_PASSWORD });
    },
  ],
  ['invitation', /^Join/, async (fixture, page) => page.goto(await fixture.invite())],
  [
    'invitation with faults',
    /^Join/,
    async (fixture, page) => {
      await page.goto(await fixture.invite());
      await submit(page, { password: 'short' });
    },
  ],
  [
    'invitation for another person',
    /^Join/,
    async (fixture, page) => {
      await fixture.signIn(page);
      await page.goto(await fixture.invite());
    },
  ],
  [
    'invitation for an account',
    /^Join/,
    async (fixture, page) => {
      const { email } = await fixture.leaver(page);
      await page.context().clearCookies();
      await page.goto(await fixture.invite(email));
    },
  ],
  [
    'invitation for the signed-in person',
    /^Join/,
    async (fixture, page) => {
      const { email } = await fixture.leaver(page);
      await page.goto(await fixture.invite(email));
    },
  ],
  ['reset', /^Set a new password/, async (fixture, page) => page.goto(await fixture.resetLink())],
  [
    'reset with faults',
    /^Set a new password/,
    async (fixture, page) => {
      await page.goto(await fixture.resetLink());
      await submit(page, { password: 'short' });
    },
  ],
  [
    'consent',
    /^Allow A client\?/,
    async (fixture, page) => {
      await fixture.signIn(page);
      await page.goto(await fixture.authorizationRequest());
    },
  ],
  [
    'an authorization request that is refused',
    /^This sign-in cannot continue/,
    async (fixture, page) => page.goto(await fixture.authorizationRequest('https://elsewhere.example/')),
  ],
  [
    'connect an account at an upstream',
    /^Connect an account/,
    async (fixture, page) => {
      await fixture.signIn(page);
      await page.goto(fixture.address(`/connections/${fixture.connectionId}/authorize`));
    },
  ],
  [
    'connected to an upstream',
    /^Connected/,
    async (fixture, page) => {
      await fixture.signIn(page);
      await page.goto(fixture.address(`/connections/${fixture.connectionId}/authorize`));
      await page.getByRole('link', { name: 'Continue' }).click();
      await page.waitForURL('**/oauth/callback/*?*');
    },
  ],
  [
    'an upstream that the person cannot connect',
    /^You do not have access/,
    async (fixture, page) => {
      await fixture.signIn(page, { role: 'member' });
      await page.goto(fixture.address(`/connections/${fixture.connectionId}/authorize`));
    },
  ],
  [
    'a callback that nobody began',
    /./,
    async (fixture, page) => {
      await fixture.signIn(page);
      await page.goto(fixture.address('/oauth/callback?state=none&code=none'));
    },
  ],
];
