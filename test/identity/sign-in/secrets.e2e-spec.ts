import { expect, it } from '@jest/globals';
import supertest from 'supertest';
import { DataSource } from 'typeorm';
import { follow, McpOauthClient } from '../oauth/oauth-client.js';
import { findMember, pathOf } from '../organizations/organizations.support.js';
import { startTestApp } from '../../support/app.js';
import { Browser, newEmail, PASSWORD } from './people.js';
import { useStarted } from '../../support/use-started.js';

const service = useStarted(() => startTestApp({ env: { LOG_LEVEL: 'trace' }, onLogLine: (line) => (log += line) }));
let log = '';

it('no secret of a person is in a log, in an event or in the clear in a table', async () => {
  const email = newEmail();
  const [wrong, changed] = ['walnut kettle orbit 1', 'walnut kettle orbit 2'];
  const { body: invited } = await service.tool('MEMBER_INVITE', { email, role: 'admin' }).expect(200);
  const invitation = pathOf(invited.invitation_url);
  const browser = new Browser(service.url);
  await browser.get(`/sign-in?return_to=${encodeURIComponent(invitation)}`);
  expect((await browser.submit(invitation, { name: 'Ada', password: PASSWORD })).status).toBe(303);
  const firstSession = browser.cookies.get('sbx_session') ?? '';

  const client = new McpOauthClient();
  const tokens = await client.authorize(`${service.url}/api/default`, browser);
  const authorization = client.authorizationUrl ?? new URL(service.url);
  const redirect = await follow(browser, authorization.pathname + authorization.search);
  const code = new URL(redirect).searchParams.get('code') ?? '';
  await supertest(service.url).get(`/api/default/tools?access_token=${tokens.access_token}`).expect(401);
  await service.tool('API_KEY_LIST', {}, tokens.access_token).expect(200);

  const { id } = await findMember(service, email);
  const reset = pathOf((await service.tool('MEMBER_RESET', { id }).expect(200)).body.reset_url);
  expect((await browser.submit(reset, { password: changed })).status).toBe(303);
  const another = new Browser(service.url);
  expect((await another.signIn(email, wrong)).status).toBe(401);
  expect((await another.signIn(email, changed)).status).toBe(303);

  const tokenIn = (path: string) => new URL(path, service.url).searchParams.get('token') ?? '';
  const secrets = {
    password: PASSWORD,
    wrong,
    changed,
    firstSession,
    session: another.cookies.get('sbx_session') ?? '',
    code,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? '',
    invitation: tokenIn(invitation),
    reset: tokenIn(reset),
  };
  const stored = await everyRow(service.app.get(DataSource));
  expect(log).toContain('"route":"/invitation"');
  expect(stored).toContain(email);
  for (const [name, secret] of Object.entries(secrets)) {
    expect({ name, length: secret.length > 15 }).toEqual({ name, length: true });
    expect({ name, isLogged: log.includes(secret) }).toEqual({ name, isLogged: false });
    expect({ name, isStored: stored.includes(secret) }).toEqual({ name, isStored: false });
  }
});

it('links lead to the base URL, whatever host a caller names', async () => {
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' };
  const { body } = await service.tool('MEMBER_INVITE', { email: newEmail(), role: 'member' }).set(headers).expect(200);
  expect(new URL(body.invitation_url).origin).toBe(service.url);
  for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/oauth-protected-resource/api/default']) {
    const { text } = await supertest(service.url).get(path).set(headers).expect(200);
    expect(text).not.toContain('evil.example');
  }
});

/** All rows of all tables as text. */
async function everyRow(database: DataSource): Promise<string> {
  const tables: { name: string }[] = await database.query(
    "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
  );
  const texts = await Promise.all(
    tables.map(async ({ name }) => JSON.stringify(await database.query(`SELECT * FROM ${name}`))),
  );
  return texts.join('\n');
}
