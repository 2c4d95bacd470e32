import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
