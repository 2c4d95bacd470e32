import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import supertest from 'supertest';
import { follow } from './oauth-client.js';
import { authorizePath, OauthFlows } from './oauth-flows.js';

let flows: OauthFlows;

beforeAll(async () => {
  flows = await OauthFlows.start();
});
afterAll(() => flows?.close());

describe('registration', () => {
  it.each([
    ['javascript:alert(1)'],
    ['data:text/html,x'],
    ['file:///etc/passwd'],
    ['blob:https://a.example/x'],
    ['vbscript:x'],
    ['about:blank'],
    ['http://evil.example/callback'],
    ['https://a.example/callback#fragment'],
  ])('refuses the redirect %s', async (redirect) => {
    const answer = await flows.register({ redirect_uris: [redirect] });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatch(/^invalid_(redirect_uri|client_metadata)$/);
  });

  it.each([['two\nlines'], ['a\u0000b'], ['\u202Ereversed'], ['x'.repeat(257)]])(
    'refuses the name %j, which the consent page cannot show',
    async (client_name) => {
      const answer = await flows.register({ client_name });
      expect(answer.status).toBe(400);
      expect(answer.body.error).toBe('invalid_client_metadata');
    },
  );

  it('connects to no address that the client names', async () => {
    let connections = 0;
    const server = createServer(() => connections++).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const at = (name: string) => `https://127.0.0.1:${port}/${name}`;
    const metadata = { sector_identifier_uri: at('sector'), jwks_uri: at('keys'), logo_uri: at('logo') };
    try {
      expect((await flows.answerOf(await flows.newFlow({}, metadata))).has('code')).toBe(true);
      expect(connections).toBe(0);
    } finally {
      server.close();
    }
  });

  it("of a client with another's redirect inherits none of its consents", async () => {
    const redirect = 'https://web.example/callback';
    const known = await flows.newFlow({ redirect_uri: redirect }, { redirect_uris: [redirect] });
    expect((await flows.answerOf(known)).has('code')).toBe(true);
    const again = await flows.browser.get(authorizePath(known));
    expect(again.headers['location']).toMatch(/^https:\/\/web\.example\/callback\?code=/);
    const imitator = await flows.newFlow({ redirect_uri: redirect }, { redirect_uris: [redirect] });
    const asked = await flows.browser.get(authorizePath(imitator));
    expect(asked.headers['location']).toMatch(/^\/oauth\/interaction\//);
    expect((await flows.answerOf(imitator, 'deny')).get('error')).toBe('access_denied');
    const stolen = (await flows.answerOf(known)).get('code') ?? '';
    const answer = await flows.exchange(imitator, stolen, { redirect_uri: redirect });
    expect(answer.body.error).toBe('invalid_grant');
  });

  it('accepts https, loopback and a custom scheme in one client, and matches the scheme exactly', async () => {
    const redirects = ['https://a.example/cb', 'http://localhost:1/cb', 'cursor://anysphere.cursor-mcp/oauth/callback'];
    const metadata = { redirect_uris: redirects, application_type: 'web' };
    const custom = 'cursor://anysphere.cursor-mcp/oauth/callback';
    expect(
      await follow(flows.browser, authorizePath(await flows.newFlow({ redirect_uri: custom }, metadata))),
    ).toContain('cursor://');
    const wrong = await flows.browser.get(
      authorizePath(await flows.newFlow({ redirect_uri: custom.replace('cursor:', 'cursox:') }, metadata)),
    );
    expect(wrong.status).toBe(400);
  });
});

describe('the metadata', () => {
  it('names the endpoints and what they support', async () => {
    const { body, headers } = await supertest(flows.url).get('/.well-known/oauth-authorization-server').expect(200);
    expect(body).toMatchObject({
      issuer: flows.url,
      authorization_endpoint: `${flows.url}/oauth/authorize`,
      token_endpoint: `${flows.url}/oauth/token`,
      registration_endpoint: `${flows.url}/oauth/register`,
      revocation_endpoint: `${flows.url}/oauth/revoke`,
      jwks_uri: `${flows.url}/oauth/jwks`,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    });
    expect(body.scopes_supported).toEqual(expect.arrayContaining(['mcp', 'api']));
    expect(headers['access-control-allow-origin']).toBe('*');
  });

  it('follows the loopback name that the client uses', async () => {
    const { body } = await supertest(flows.url.replace('127.0.0.1', 'localhost'))
      .get('/.well-known/oauth-authorization-server')
      .expect(200);
    expect(body.issuer).toBe(flows.url.replace('127.0.0.1', 'localhost'));
  });

  it('does not follow other loopback names, of which there are too many', async () => {
    const { port } = new URL(flows.url);
    for (const host of [`app.localhost:${port}`, `127.0.0.2:${port}`]) {
      const answer = supertest(flows.url).get('/.well-known/oauth-authorization-server').set('host', host);
      expect((await answer.expect(200)).body.issuer).toBe(flows.url);
    }
  });

  it('is a JSON 404 for unknown documents', async () => {
    const { body } = await supertest(flows.url).get('/.well-known/nothing').expect(404);
    expect(body.code).toBe('unknown_route');
  });
});
