import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import supertest from 'supertest';
import { newId } from '../../../src/core/ids.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { gatewayPath } from '../../support/gateway-agents.js';
import { OauthFlows, REDIRECT } from './oauth-flows.js';
import { eventually } from '../../support/eventually.js';

let flows: OauthFlows;

beforeAll(async () => {
  flows = await OauthFlows.start();
});
afterAll(() => flows?.close());

/** Waits for the moment at which no process knows the token any longer. */
async function untilRefused(token: string): Promise<void> {
  await eventually(async () => expect((await flows.callWith(token)).status).toBe(401));
}

/** Makes the person an admin of another organization, too; returns its slug. */
async function secondOrganization(): Promise<string> {
  const { id, slug } = await startSecondOrganization(flows.app, 'second');
  await flows.app.query(
    `INSERT INTO members (organization_id, user_id, role) SELECT $1, id, 'admin' FROM users WHERE email = $2
       ON CONFLICT DO NOTHING`,
    [id, flows.email],
  );
  return slug;
}

describe('a code', () => {
  it('is exchanged once; the second attempt revokes what the first gave', async () => {
    const flow = await flows.newFlow();
    const code = (await flows.answerOf(flow)).get('code') ?? '';
    const { body } = await flows.exchange(flow, code).expect(200);
    await flows.callWith(body.access_token).expect(200);
    expect((await flows.exchange(flow, code)).body.error).toBe('invalid_grant');
    expect((await flows.refresh(flow, body.refresh_token)).body.error).toBe('invalid_grant');
    await untilRefused(body.access_token);
  });

  it('is exchanged by one of many concurrent requests at most', async () => {
    const flow = await flows.newFlow();
    const code = (await flows.answerOf(flow)).get('code') ?? '';
    const answers = await Promise.all(Array.from({ length: 8 }, () => flows.exchange(flow, code)));
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length).toBeLessThanOrEqual(1);
    for (const { body } of answers.filter(({ status }) => status !== 200)) expect(body.error).toBe('invalid_grant');
    for (const { body } of given) {
      await untilRefused(body.access_token);
      expect((await flows.refresh(flow, body.refresh_token)).body.error).toBe('invalid_grant');
    }
  });

  it.each([
    ['another client', async (): Promise<Record<string, string>> => ({ client_id: (await flows.newFlow()).clientId })],
    ['another verifier', async () => ({ code_verifier: randomBytes(32).toString('base64url') })],
    ['another redirect', async () => ({ redirect_uri: 'http://127.0.0.1:33418/other' })],
  ])('does not open with %s', async (_what, changes) => {
    const flow = await flows.newFlow();
    const code = (await flows.answerOf(flow)).get('code') ?? '';
    const answer = await flows.exchange(flow, code, await changes());
    expect(answer.status).toBe(400);
    expect(answer.body.error).toBe('invalid_grant');
  });

  it('gives no token for a resource that was not granted', async () => {
    const flow = await flows.newFlow();
    const code = (await flows.answerOf(flow)).get('code') ?? '';
    const answer = await flows.exchange(flow, code, { resource: `${flows.url}/api/${flows.app.org}` });
    expect(answer.body.error).toBe('invalid_target');
  });
});

describe('a refresh token', () => {
  it('rotates, and its second use revokes the whole family, but no other sign-in', async () => {
    const flow = await flows.newFlow();
    const [first, other] = [await flows.tokensOf(flow), await flows.tokensOf(await flows.newFlow())];
    const { body: second } = await flows.refresh(flow, first.refresh_token).expect(200);
    await flows.callWith(second.access_token).expect(200);
    expect((await flows.refresh(flow, first.refresh_token)).body.error).toBe('invalid_grant');
    expect((await flows.refresh(flow, second.refresh_token)).body.error).toBe('invalid_grant');
    for (const { access_token } of [first, second]) await untilRefused(access_token);
    await flows.callWith(other.access_token).expect(200);
  });

  it('that several requests use at once gives at most one of them tokens, which end with the family', async () => {
    const flow = await flows.newFlow();
    const tokens = await flows.tokensOf(flow);
    const answers = await Promise.all(Array.from({ length: 8 }, () => flows.refresh(flow, tokens.refresh_token)));
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length).toBeLessThanOrEqual(1);
    for (const { body } of answers.filter(({ status }) => status !== 200)) expect(body.error).toBe('invalid_grant');
    for (const { body } of [{ body: tokens }, ...given]) await untilRefused(body.access_token);
    for (const { body } of given) {
      expect((await flows.refresh(flow, body.refresh_token)).body.error).toBe('invalid_grant');
    }
  });

  it('of another client is refused and kills nothing', async () => {
    const [flow, thief] = [await flows.newFlow(), await flows.newFlow()];
    const tokens = await flows.tokensOf(flow);
    expect((await flows.refresh(thief, tokens.refresh_token)).body.error).toBe('invalid_grant');
    await flows.refresh(flow, tokens.refresh_token).expect(200);
  });
});

describe('an access token', () => {
  it('opens its resource and nothing else', async () => {
    const { access_token } = await flows.tokensOf(await flows.newFlow());
    await flows.callWith(access_token).expect(200);
    const other = await secondOrganization();
    for (const at of [
      await flows.connected(),
      `/api/${flows.app.org}/mcp/self`,
      gatewayPath(flows.app, newId()),
      `/api/${other}/mcp/self`,
      flows.path.replace(`/${flows.app.org}/`, `/${other}/`),
    ]) {
      const refused = await flows.callWith(access_token, at).expect(401);
      expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
    }
    const api = await supertest(flows.url)
      .get(`/api/${flows.app.org}/tools`)
      .set('authorization', `Bearer ${access_token}`);
    expect(api.status).toBe(401);
  });

  it('for a resource with a trailing slash opens the same endpoint', async () => {
    const flow = await flows.newFlow({ resource: `${flows.resource}/` });
    const code = (await flows.answerOf(flow)).get('code') ?? '';
    const { body } = await flows.exchange(flow, code, { resource: `${flows.resource}/` }).expect(200);
    await flows.callWith(body.access_token).expect(200);
  });

  it('without the scope of the endpoint gets the challenge that names it', async () => {
    const flow = await flows.newFlow({ scope: 'openid' });
    const { access_token } = await flows.tokensOf(flow);
    const refused = await flows.callWith(access_token).expect(403);
    expect(refused.headers['www-authenticate']).toBe(
      `Bearer realm="mcp",resource_metadata="${flows.resource}/.well-known/oauth-protected-resource",error="insufficient_scope",scope="mcp"`,
    );
  });

  it('stops when its grant is revoked at the revocation endpoint', async () => {
    const flow = await flows.newFlow();
    const tokens = await flows.tokensOf(flow);
    const revoke = { token: tokens.refresh_token, client_id: flow.clientId };
    await supertest(flows.url).post('/oauth/revoke').type('form').send(revoke).expect(200);
    expect((await flows.refresh(flow, tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('and every other secret is stored under a hash and sealed', async () => {
    const flow = await flows.newFlow();
    const tokens = await flows.tokensOf(flow);
    const rows = await flows.app.query('SELECT * FROM oauth_records');
    const stored = JSON.stringify(rows);
    for (const secret of [tokens.access_token, tokens.refresh_token]) expect(stored).not.toContain(secret);
    expect(stored).not.toContain(REDIRECT);
  });
});
