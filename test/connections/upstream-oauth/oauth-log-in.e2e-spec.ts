import { describe, expect, it } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import supertest from 'supertest';
import { succeed } from '../../support/agent-runs.js';
import { whileRowsLocked } from '../../support/locks.js';
import { startTestService, type TestService } from '../../support/service.js';
import { callProxy, pathOf, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { Browser } from '../../identity/sign-in/people.js';
import {
  answerOf,
  authorize,
  begin,
  connectOauth,
  type Person,
  signedIn,
  useOauthUpstream,
  start,
} from './log-in.support.js';
import { type OauthUpstream, startOauthUpstream } from './oauth-upstream.js';

const METADATA = '/.well-known/oauth-authorization-server';

describe('a log-in at an upstream', () => {
  let service: TestService;
  let upstream: OauthUpstream;
  let owner: Person;

  useOauthUpstream(startTestService, (started) => ({ upstream, service, owner } = started));

  const callText = async (id: string): Promise<string | undefined> => {
    const answer = await callProxy(service, pathOf(service, id), { key: service.apiKey, body: toolCall('whoami') });
    return rpcOf(answer).result?.content?.[0]?.text;
  };
  const callback = ({ browser }: Person, { pathname, search }: URL): Promise<supertest.Response> =>
    browser.get(pathname + search);
  /** The authorization server answers this at one path. */
  const answering = (path: string, status: number, body: unknown, headers: Record<string, string> = {}): void => {
    upstream.intercept = (_request: IncomingMessage, response: ServerResponse, at) => {
      if (at !== path) return false;
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
      return true;
    };
  };
  const metadata = async (): Promise<Record<string, unknown>> =>
    (await (await fetch(upstream.issuer + METADATA)).json()) as Record<string, unknown>;

  it('begins with the sign-in', async () => {
    const id = await connectOauth(service, upstream);
    const page = `/connections/${id}/authorize`;
    for (const path of [page, `${page}/continue`]) {
      const response = await new Browser(service.url).get(path);
      expect(response.status).toBe(303);
      expect(response.headers['location']).toBe(`/sign-in?return_to=${encodeURIComponent(page)}`);
    }
  });

  it('shows a page that says whose account it is for and where, and only its link leads on', async () => {
    const id = await connectOauth(service, upstream);
    const path = `/connections/${id}/authorize`;
    const page = await owner.browser.get(path);
    expect(page.status).toBe(200);
    expect(page.text).toContain(new URL(upstream.url).host);
    expect(page.text).toContain('Everyone who can call the connection');
    const shared = await connectOauth(service, upstream, { account: 'member' });
    expect((await owner.browser.get(`/connections/${shared}/authorize`)).text).toContain('Only you');
    const [, link = ''] = /href="([^"]*\/continue\?[^"]*)"/.exec(page.text) ?? [];
    const [, formToken = ''] =
      /name="csrf_token" value="([^"]*)"/.exec((await owner.browser.get('/password')).text) ?? [];
    expect(formToken).not.toBe('');
    const other = await signedIn(service);
    const [, foreign = ''] = /href="([^"]*\/continue\?[^"]*)"/.exec((await other.browser.get(path)).text) ?? [];
    expect(foreign).not.toBe(link);
    for (const forged of [`${path}/continue`, `${path}/continue?csrf_token=${formToken}`, foreign]) {
      expect((await owner.browser.get(forged)).status).toBe(403);
    }
    expect((await owner.browser.get(link)).status).toBe(303);
  });

  it('asks for a code with PKCE, the resource and the scope that the upstream names', async () => {
    const id = await connectOauth(service, upstream);
    const { searchParams } = new URL(await begin(owner, id));
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      resource: upstream.url,
      scope: 'tools offline_access',
      redirect_uri: expect.stringMatching(new RegExp(`^${service.url}/oauth/callback/[\\w-]{43}$`)),
      state: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  it('registers the service once for each connection, or uses the configured client', async () => {
    const id = await connectOauth(service, upstream);
    const before = upstream.registrations;
    const clients = [await begin(owner, id), await begin(owner, id)].map((url) =>
      new URL(url).searchParams.get('client_id'),
    );
    expect(clients[1]).toBe(clients[0]);
    expect(upstream.registrations).toBe(before + 1);
    const configured = await connectOauth(service, upstream, {
      client_id: 'set-up',
      client_secret: 'secret',
      scope: 'own',
    });
    const { searchParams } = new URL(await begin(owner, configured));
    expect(Object.fromEntries(searchParams)).toMatchObject({ client_id: 'set-up', scope: 'own offline_access' });
    expect(upstream.registrations).toBe(before + 1);
  });

  it('uses a configured client only at the authorization server that accepted it', async () => {
    const id = await connectOauth(service, upstream, { client_id: 'set up later' });
    const redirectUri = `${service.url}/oauth/callback/${id}`;
    expect((await owner.browser.get(`/connections/${id}/authorize`)).text).toContain(redirectUri);
    const registration = await fetch(`${upstream.issuer}/reg`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        redirect_uris: [redirectUri],
        application_type: 'native',
        token_endpoint_auth_method: 'client_secret_basic',
      }),
    });
    const { client_id, client_secret } = (await registration.json()) as Record<string, string>;
    const auth = { type: 'oauth', client_id, client_secret };
    await succeed(service, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { auth } });
    expect((await authorize(owner, upstream, id)).status).toBe(200);
    expect(await callText(id)).toBe('alice');
    const other = await startOauthUpstream();
    try {
      answering('/.well-known/oauth-protected-resource/mcp', 200, {
        resource: upstream.url,
        authorization_servers: [other.issuer],
      });
      expect((await start(owner, id)).text).toContain('to which auth.client_id belongs');
      await succeed(service, 'CONNECTION_DEAUTHORIZE', { id });
      expect(new URL(await begin(owner, id)).origin).toBe(other.issuer);
    } finally {
      await other.close();
    }
  });

  it('does not disturb other log-ins that are in progress', async () => {
    const ids = [await connectOauth(service, upstream), await connectOauth(service, upstream)];
    upstream.account = 'alice';
    const answers = [];
    for (const id of [...ids, ...ids]) answers.push(await answerOf(await begin(owner, id)));
    for (const answer of answers.toReversed()) expect((await callback(owner, answer)).status).toBe(200);
    for (const id of ids) expect(await callText(id)).toBe('alice');
  });

  it('lets two log-ins for one account end at the same time', async () => {
    const id = await connectOauth(service, upstream);
    const atOnce = async (lock: string): Promise<void> => {
      const answers: URL[] = [];
      for (const account of ['alice', 'bob']) {
        upstream.account = account;
        answers.push(await answerOf(await begin(owner, id)));
      }
      const pages = await whileRowsLocked(service, { lock, waiting: 2 }, () =>
        answers.map((answer) => callback(owner, answer)),
      );
      expect(pages.map(({ status, text }) => [status, text.includes('can now use the account')])).toEqual([
        [200, true],
        [200, true],
      ]);
      expect(await callText(id)).toMatch(/^(alice|bob)$/);
    };
    await atOnce(`SELECT FROM connections WHERE id = '${id}' FOR UPDATE`);
    await atOnce(`SELECT FROM upstream_authorizations WHERE connection_id = '${id}' FOR UPDATE`);
  });

  it('ends only in the browser that began it, once, and within 30 minutes', async () => {
    const id = await connectOauth(service, upstream);
    const other = await signedIn(service);
    const answer = await answerOf(await begin(owner, id));
    expect((await callback(other, answer)).status).toBe(400);
    expect((await new Browser(service.url).get(answer.pathname + answer.search)).status).toBe(400);
    expect(await callText(id)).toBeUndefined();
    expect((await callback(owner, answer)).status).toBe(200);
    expect((await callback(owner, answer)).status).toBe(400);

    const late = await answerOf(await begin(owner, id));
    await service.query("UPDATE upstream_log_ins SET expires_at = expires_at - interval '30 minutes'");
    expect((await callback(owner, late)).status).toBe(400);
  });

  it('needs the permission CONNECTION_AUTHORIZE for the account of a connection, at both ends', async () => {
    const id = await connectOauth(service, upstream);
    const member = await signedIn(service, 'member');
    expect((await start(member, id)).status).toBe(403);
    const answer = await answerOf(await begin(owner, id));
    await service.query("UPDATE members SET role = 'member' WHERE user_id = $1", [owner.id]);
    expect((await callback(owner, answer)).status).toBe(403);
    await service.query("UPDATE members SET role = 'owner' WHERE user_id = $1", [owner.id]);
    expect(await callText(id)).toBeUndefined();
  });

  it('reveals no connection to people of other organizations', async () => {
    const id = await connectOauth(service, upstream);
    const stranger = await signedIn(service);
    await service.query('DELETE FROM members WHERE user_id = $1', [stranger.id]);
    const unknown = await start(stranger, '01a203f4-3d3b-7341-87be-ad8311039325');
    const other = await start(stranger, id);
    expect([other.status, unknown.status]).toEqual([404, 404]);
  });

  it('refuses the answer of another authorization server (RFC 9207)', async () => {
    const id = await connectOauth(service, upstream);
    for (const iss of ['http://127.0.0.1:1', undefined]) {
      const answer = await answerOf(await begin(owner, id));
      if (iss === undefined) answer.searchParams.delete('iss');
      else answer.searchParams.set('iss', iss);
      const page = await callback(owner, answer);
      expect({ status: page.status, text: page.text }).toEqual({
        status: 502,
        text: expect.stringContaining('another authorization server'),
      });
    }
    expect(await callText(id)).toBeUndefined();
  });

  it('has a redirect address of its own at each server, so that none gets the code of another one (mix-up)', async () => {
    const honestId = await connectOauth(service, upstream);
    const honest = await begin(owner, honestId);
    const redirectUriOf = (url: string) => new URL(url).searchParams.get('redirect_uri') ?? '';
    const attacker = await startOauthUpstream();
    try {
      const stated = (await (await fetch(attacker.issuer + METADATA)).json()) as object;
      let redeemed = 0;
      attacker.intercept = (_request, response, path) => {
        if (path === '/token') redeemed++;
        else if (path !== METADATA) return false;
        const body = { ...stated, error: 'invalid_grant', authorization_response_iss_parameter_supported: false };
        response.writeHead(path === METADATA ? 200 : 400, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
        return true;
      };
      const id = await connectOauth(service, attacker);
      // The attacker's authorization endpoint sends the browser on to the honest server, as the client that is
      // registered there.
      const relay = async (...kept: string[]): Promise<URL> => {
        const relayed = new URL(honest);
        const own = new URL(await begin(owner, id)).searchParams;
        for (const name of ['state', 'code_challenge', ...kept]) relayed.searchParams.set(name, own.get(name) ?? '');
        const answer = await answerOf(relayed.href);
        answer.searchParams.delete('iss');
        return answer;
      };
      const page = await callback(owner, await relay());
      expect({ status: page.status, text: page.text }).toEqual({
        status: 502,
        text: expect.stringContaining('redirect address of another authorization server'),
      });
      expect(redeemed).toBe(0);
      await expect(relay('redirect_uri')).rejects.toThrow('redirect_uri');
      // The same connection at another server is another client, too.
      answering('/.well-known/oauth-protected-resource/mcp', 200, {
        resource: upstream.url,
        authorization_servers: [attacker.issuer],
      });
      expect(redirectUriOf(await begin(owner, honestId))).not.toBe(redirectUriOf(honest));
    } finally {
      await attacker.close();
    }
  });

  it('shows why the authorization server refused', async () => {
    const id = await connectOauth(service, upstream);
    const url = new URL(await begin(owner, id));
    const answer = new URL(url.searchParams.get('redirect_uri') ?? '');
    answer.search = new URLSearchParams({
      state: url.searchParams.get('state') ?? '',
      error: 'access_denied',
      iss: upstream.issuer,
    }).toString();
    expect((await callback(owner, answer)).text).toContain('access_denied');
  });

  it('refuses metadata of a different issuer, without S256, with a redirect, too large, or that is no JSON', async () => {
    const id = await connectOauth(service, upstream);
    const document = await metadata();
    const faults: [number, unknown, Record<string, string>?][] = [
      [200, { ...document, issuer: 'http://127.0.0.1:1' }],
      [200, { ...document, code_challenge_methods_supported: ['plain'] }],
      [200, { ...document, authorization_endpoint: 'javascript:alert(1)' }],
      [302, '', { location: `${upstream.issuer}/elsewhere` }],
      [200, { ...document, padding: 'x'.repeat(70_000) }],
      [200, '<html>'],
      [500, 'broken'],
    ];
    for (const [status, body, headers] of faults) {
      answering(METADATA, status, body, headers);
      const page = await start(owner, id);
      expect({ status: page.status, type: page.headers['content-type'] }).toEqual({
        status: 502,
        type: 'text/html; charset=utf-8',
      });
    }
  });

  it('uses the endpoints of MCP 2025-03-26 at an upstream without any metadata', async () => {
    const id = await connectOauth(service, upstream);
    const registrations: unknown[] = [];
    const register = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const metadata = (await json(request)) as object;
      registrations.push(metadata);
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...metadata, client_id: 'registered' }));
    };
    upstream.intercept = (request, response, path) => {
      if (path === '/register') void register(request, response);
      else response.writeHead(path === '/mcp' ? 401 : 404).end();
      return true;
    };
    const url = new URL(await begin(owner, id));
    expect(url.origin + url.pathname).toBe(`${upstream.issuer}/authorize`);
    expect(url.searchParams.get('client_id')).toBe('registered');
    expect(registrations).toEqual([expect.objectContaining({ application_type: 'native' })]);
  });

  it('refuses an authorization server without metadata that the upstream names', async () => {
    const id = await connectOauth(service, upstream);
    upstream.intercept = (_request, response, path) => {
      if (!path.startsWith('/.well-known/') || path.includes('protected-resource')) return false;
      response.writeHead(404).end();
      return true;
    };
    expect((await start(owner, id)).text).toContain('no metadata document');
  });

  it('refuses protected-resource metadata that describes another resource', async () => {
    const id = await connectOauth(service, upstream);
    answering('/.well-known/oauth-protected-resource/mcp', 200, {
      resource: 'http://127.0.0.1:1/mcp',
      authorization_servers: [upstream.issuer],
    });
    expect((await start(owner, id)).text).toContain('another resource');
  });

  it('stores nothing when the token endpoint answers with rubbish', async () => {
    const id = await connectOauth(service, upstream);
    for (const body of ['<html>', {}, { access_token: 'x', token_type: 'mac' }]) {
      const answer = await answerOf(await begin(owner, id));
      answering('/token', 200, body);
      expect((await callback(owner, answer)).status).toBe(502);
      upstream.intercept = () => false;
    }
    expect(await callText(id)).toBeUndefined();
  });

  it('is void when the connection gets another address in the meantime, and so are the tokens', async () => {
    const id = await connectOauth(service, upstream);
    const answer = await answerOf(await begin(owner, id));
    const moved = { connection_url: `${upstream.url}?moved` };
    await succeed(service, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: moved });
    expect((await callback(owner, answer)).status).toBe(409);

    await succeed(service, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { connection_url: upstream.url } });
    expect((await authorize(owner, upstream, id)).status).toBe(200);
    expect(await callText(id)).toBe('alice');
    await succeed(service, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: moved });
    expect(await callText(id)).toBeUndefined();
  });

  it('does not connect to an authorization server at a private address, unless that is allowed', async () => {
    const { host } = new URL(upstream.url);
    const hidden = await startOauthUpstream();
    const env = { UPSTREAM_ALLOW_PRIVATE: 'false', UPSTREAM_ALLOW: host };
    const strict = await startTestService({ database: service.database, env });
    try {
      const id = await connectOauth(service, upstream);
      answering('/.well-known/oauth-protected-resource/mcp', 200, {
        resource: upstream.url,
        authorization_servers: [hidden.issuer],
      });
      const browser = new Browser(strict.url);
      browser.cookies.clear();
      for (const [name, value] of owner.browser.cookies) browser.cookies.set(name, value);
      const page = await start({ id: owner.id, browser }, id);
      expect({ status: page.status, text: page.text }).toEqual({
        status: 502,
        text: expect.stringContaining('is a loopback address'),
      });
    } finally {
      await strict.close();
      await hidden.close();
    }
  });

  it('has a client metadata document where the base URL has https', async () => {
    const path = '/oauth/client-metadata.json';
    expect((await supertest(service.url).get(path)).status).toBe(404);
    const secure = await startTestService({ database: service.database, env: { BASE_URL: 'https://box.example' } });
    try {
      for (const place of ['', `/${'a-_'.repeat(14)}a`]) {
        const at = `/oauth/client-metadata${place}.json`;
        const { body } = await supertest(secure.url).get(at);
        expect(body).toMatchObject({
          client_id: `https://box.example${at}`,
          redirect_uris: [`https://box.example/oauth/callback${place}`],
          token_endpoint_auth_method: 'none',
          application_type: 'web',
        });
      }
      expect((await supertest(secure.url).get('/oauth/client-metadata/else.json')).status).toBe(404);
    } finally {
      await secure.close();
    }
  });
});
