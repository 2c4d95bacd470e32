import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { hashApiKey } from '../../../src/core/api-key-value.js';
import { ConsoleBrowser } from '../../console/console.support.js';
import { eventually } from '../../support/eventually.js';
import { waitingForLocks, whileLocked, whileRowsLocked } from '../../support/locks.js';
import { expectProblem } from '../../support/problem.js';
import { startTestService, type TestService } from '../../support/service.js';
import { McpOauthClient } from '../oauth/oauth-client.js';
import { addPerson, Browser, hiddenFieldsOf, newEmail, PASSWORD } from '../sign-in/people.js';
import { SmtpServer } from '../sign-in/smtp-server.js';
import { findMember, invite, pathOf } from './organizations.support.js';

const EVERYTHING = { self: ['*'], '*': ['*'] };

let smtp: SmtpServer;
let service: TestService;

beforeAll(async () => {
  smtp = await SmtpServer.start();
  service = await startTestService({ env: { SMTP_URL: smtp.url } });
});
afterAll(async () => {
  await service?.close();
  smtp?.close();
});

/** Calls a management tool as one caller. */
type Call = (name: string, body: object) => PromiseLike<{ status: number; body: Record<string, string> }>;

interface Links {
  readonly invited: string;
  readonly reset: string;
  /** Of the pages: those that were returned, and those that were mailed. */
  readonly paths: readonly string[];
}

async function createKey(more: object = {}, maker?: string): Promise<{ id: string; key: string; expires_at: string }> {
  const input = { name: 'made', permissions: EVERYTHING, ...more };
  return (await service.tool('API_KEY_CREATE', input, maker).expect(200)).body;
}

function callWith(key: string): Call {
  return (name, body) => service.tool(name, body, key);
}

async function mailedPath(email: string): Promise<string> {
  const [url = ''] = /http:\/\/\S+/.exec(await smtp.messageTo(email)) ?? [];
  return pathOf(url);
}

/** Makes an invitation and a link to reset the password of an owner, both returned and mailed. */
async function makeLinks(call: Call): Promise<Links> {
  const [invited, reset] = [newEmail(), newEmail()];
  await addPerson(service, { email: reset, role: 'owner' });
  const { id } = await findMember(service, reset);
  const [invitation, resetLink] = [
    await call('MEMBER_INVITE', { email: invited, role: 'owner', expiresIn: 30 * 24 * 3600 }),
    await call('MEMBER_RESET', { id }),
  ];
  expect([invitation.status, resetLink.status]).toEqual([200, 200]);
  const shown = [invitation.body['invitation_url'], resetLink.body['reset_url']].map((url = '') => pathOf(url));
  const paths = [...shown, await mailedPath(invited), await mailedPath(reset)];
  expect(new Set(paths).size).toBe(4);
  return { invited, reset, paths };
}

function statusesOf({ paths }: Links): Promise<number[]> {
  return Promise.all(paths.map(async (path) => (await fetch(service.url + path)).status));
}

const OPEN = [200, 200, 200, 200];
const ENDED = [404, 404, 404, 404];

async function expiriesOf({ invited, reset }: Links): Promise<string[]> {
  const rows = await service.query<{ expires_at: Date }>(
    `SELECT expires_at FROM invitations WHERE email = $1
     UNION ALL SELECT links.expires_at FROM password_links links JOIN users ON users.id = user_id WHERE email = $2`,
    [invited, reset],
  );
  expect(rows).toHaveLength(3);
  return rows.map(({ expires_at: at }) => at.toISOString());
}

async function signedIn(): Promise<{ browser: Browser; token: string }> {
  const email = newEmail();
  await addPerson(service, { email, role: 'owner' });
  const browser = new Browser(service.url);
  await browser.signIn(email);
  const { access_token } = await new McpOauthClient().authorize(`${service.url}/api/default`, browser);
  return { browser, token: access_token };
}

/** The newest grant is that of the caller's own token. */
async function revokeNewest(token: string): Promise<void> {
  const { body } = await service.tool('OAUTH_GRANT_LIST', {}, token).expect(200);
  await service.tool('OAUTH_GRANT_REVOKE', { id: body.items[0].id }).expect(200);
}

describe('the invitations and reset links of a key', () => {
  it('end when the key is deleted, and are refused when they are submitted', async () => {
    const { id, key } = await createKey();
    const browsers = OPEN.map(() => new Browser(service.url));
    const links = await makeLinks(callWith(key));
    const forms = await Promise.all(
      links.paths.map(async (path, n) => {
        const page = await browsers[n]?.get(path);
        expect(page?.status).toBe(200);
        return hiddenFieldsOf(page?.text ?? '');
      }),
    );
    await service.tool('API_KEY_DELETE', { id }).expect(200);
    const submitted = links.paths.map((path, n) =>
      browsers[n]?.post(path.replace(/\?.*/, ''), { ...forms[n], name: 'Mallory', password: 'walnut kettle orbit' }),
    );
    expect((await Promise.all(submitted)).map((answer) => answer?.status)).toEqual(ENDED);
    expect(await statusesOf(links)).toEqual(ENDED);
    expect((await new Browser(service.url).signIn(links.reset, PASSWORD)).status).toBe(303);
    const invited = { where: { field: ['email'], operator: 'eq', value: links.invited } };
    expect((await service.tool('MEMBER_LIST', invited).expect(200)).body.items).toEqual([]);
  });

  it('end with the key that made the key, and also when the keys of the key are kept', async () => {
    const maker = await createKey();
    const child = await createKey({}, maker.key);
    const [ofMaker, ofChild] = [await makeLinks(callWith(maker.key)), await makeLinks(callWith(child.key))];
    await service.tool('API_KEY_DELETE', { id: maker.id, children: 'keep' }).expect(200);
    expect([await statusesOf(ofMaker), await statusesOf(ofChild)]).toEqual([ENDED, OPEN]);
    const another = await createKey();
    const last = await createKey({}, another.key);
    const ofLast = await makeLinks(callWith(last.key));
    await service.tool('API_KEY_DELETE', { id: another.id }).expect(200);
    expect(await statusesOf(ofLast)).toEqual(ENDED);
  });

  it('end with the key of a person, who keeps those of the console', async () => {
    const email = newEmail();
    await addPerson(service, { email, role: 'owner' });
    const person = new ConsoleBrowser(service.url);
    expect((await person.signIn(email)).status).toBe(200);
    const { id, key } = (await person.tool('API_KEY_CREATE', { name: 'own', permissions: EVERYTHING })).body;
    const ofKey = await makeLinks(callWith(key));
    const ofConsole = await makeLinks((name, body) => person.tool(name, body));
    expect((await person.tool('API_KEY_DELETE', { id })).status).toBe(200);
    await person.signOut();
    expect([await statusesOf(ofKey), await statusesOf(ofConsole)]).toEqual([ENDED, OPEN]);
  });

  it('expire no later than the key, also when it expires earlier from then on', async () => {
    const { id, key, expires_at: end } = await createKey({ expiresIn: 3600 });
    const links = await makeLinks(callWith(key));
    expect(await expiriesOf(links)).toEqual([end, end, end]);
    const { item } = (await service.tool('API_KEY_UPDATE', { id, expiresIn: 60 }).expect(200)).body;
    expect(Date.parse(item.expires_at)).toBeLessThan(Date.parse(end));
    expect(await expiriesOf(links)).toEqual([item.expires_at, item.expires_at, item.expires_at]);
    await service.tool('API_KEY_UPDATE', { id, expiresIn: 3600 }).expect(200);
    expect(await expiriesOf(links)).toEqual([item.expires_at, item.expires_at, item.expires_at]);
  });

  it('end when the permissions of the key become fewer', async () => {
    const { id, key } = await createKey();
    const links = await makeLinks(callWith(key));
    await service.tool('API_KEY_UPDATE', { id, name: 'renamed' }).expect(200);
    expect(await statusesOf(links)).toEqual(OPEN);
    await service.tool('API_KEY_UPDATE', { id, permissions: { '*': ['*'] } }).expect(200);
    expect(await statusesOf(links)).toEqual(ENDED);
  });

  it('are made while the key makes other keys', async () => {
    const { key } = await createKey();
    const making = Array.from({ length: 12 }, async () => [
      service.tool('MEMBER_INVITE', { email: newEmail(), role: 'owner' }, key),
      service.tool('API_KEY_CREATE', { name: 'another', permissions: {} }, key),
    ]);
    const answers = await Promise.all((await Promise.all(making)).flat());
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });

  it('belong to the last maker', async () => {
    const { id, key } = await createKey();
    const email = newEmail();
    const first = await invite(service, email, 'member', key);
    const second = await invite(service, email);
    await service.tool('API_KEY_DELETE', { id }).expect(200);
    expect((await fetch(service.url + first)).status).toBe(404);
    expect((await fetch(service.url + second)).status).toBe(200);
  });

  it('do not survive when they are made while the key is deleted', async () => {
    const { id, key } = await createKey();
    await service.tool('MEMBER_LIST', {}, key).expect(200);
    const making = Array.from({ length: 12 }, async () =>
      service.tool('MEMBER_INVITE', { email: newEmail(), role: 'owner' }, key),
    );
    const [made] = await Promise.all([Promise.all(making), service.tool('API_KEY_DELETE', { id }).expect(200)]);
    for (const { status, body } of made) {
      expect([200, 401]).toContain(status);
      if (status === 200) expect((await fetch(body.invitation_url)).status).toBe(404);
    }
  });
});

describe('an invitation that waits while its maker ends or is narrowed', () => {
  const NARROWED = { self: ['MEMBER_INVITE'] };

  it.each([
    ['the key is narrowed', 'UPDATE api_keys SET permissions = $2 WHERE key_hash = $1'],
    ['the key is deleted', 'DELETE FROM api_keys WHERE key_hash = $1 AND $2::jsonb IS NOT NULL'],
  ])('is refused: %s', async (_, statement) => {
    const { key } = await createKey();
    const email = newEmail();
    const answer = await whileLocked(
      service,
      () => service.tool('MEMBER_INVITE', { email, role: 'owner' }, key),
      () => service.query(statement, [hashApiKey(key), NARROWED]),
    );
    expectProblem(answer, 401, 'credential_invalid');
    expect(await service.query('SELECT FROM invitations WHERE email = $1', [email])).toEqual([]);
  });

  it('is refused: the grant is revoked', async () => {
    const { token } = await signedIn();
    const email = newEmail();
    const answer = await whileLocked(
      service,
      () => service.tool('MEMBER_INVITE', { email, role: 'owner' }, token),
      () => revokeNewest(token),
    );
    expectProblem(answer, 401, 'credential_invalid');
    expect(await service.query('SELECT FROM invitations WHERE email = $1', [email])).toEqual([]);
  });
});

describe('the invitations and reset links of a grant', () => {
  it('end when the grant is revoked, also those of a key that was made with it', async () => {
    const { browser, token } = await signedIn();
    const { key } = await createKey({}, token);
    const [ofToken, ofKey] = [await makeLinks(callWith(token)), await makeLinks(callWith(key))];
    const { access_token: other } = await new McpOauthClient().authorize(`${service.url}/api/default`, browser);
    const ofOther = await makeLinks(callWith(other));
    expect([await statusesOf(ofToken), await statusesOf(ofKey)]).toEqual([OPEN, OPEN]);
    await revokeNewest(other);
    expect([await statusesOf(ofToken), await statusesOf(ofOther)]).toEqual([OPEN, ENDED]);
    await revokeNewest(token);
    expect([await statusesOf(ofToken), await statusesOf(ofKey)]).toEqual([ENDED, ENDED]);
  });
});

describe('the invitations and reset links of a member', () => {
  it('end when the member is removed while the grant that made them is revoked', async () => {
    const { token } = await signedIn();
    const links = await makeLinks(callWith(token));
    const [grant] = (await service.tool('OAUTH_GRANT_LIST', {}, token).expect(200)).body.items;
    const { id } = await findMember(service, grant.user_email);
    const lock = `SELECT FROM password_links WHERE grant_id = '${grant.id}' FOR UPDATE`;
    let revoking: Promise<supertest.Response> | undefined;
    const [removed] = await whileRowsLocked(
      service,
      // The invitation is deleted before the reset links.
      { lock, waiting: 1 },
      () => [Promise.resolve(service.tool('MEMBER_REMOVE', { id }))],
      async () => {
        revoking = Promise.resolve(service.tool('OAUTH_GRANT_REVOKE', { id: grant.id }));
        await eventually(async () => expect(await waitingForLocks(service)).toBeGreaterThanOrEqual(2));
      },
    );
    expect([removed?.status, (await revoking)?.status]).toEqual([200, 404]);
    expect(await statusesOf(links)).toEqual(ENDED);
  });
});

describe('the invitations and reset links of a client that acts for itself', () => {
  it('end with the client', async () => {
    const input = { name: 'Nightly', grant_types: ['client_credentials'], permissions: EVERYTHING };
    const { item, client_secret } = (await service.tool('OAUTH_CLIENT_CREATE', input).expect(200)).body;
    const { body } = await supertest(service.url)
      .post('/oauth/token')
      .type('form')
      .send({ grant_type: 'client_credentials', resource: `${service.url}/api/default` })
      .send({ client_id: item.client_id, client_secret })
      .expect(200);
    const links = await makeLinks(callWith(body.access_token));
    expect(await statusesOf(links)).toEqual(OPEN);
    await service.tool('OAUTH_CLIENT_DELETE', { id: item.id }).expect(200);
    expect(await statusesOf(links)).toEqual(ENDED);
  });
});
