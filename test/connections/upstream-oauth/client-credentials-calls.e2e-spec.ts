import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { succeed, ThreadClient } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { callProxy, errorIn, pathOf, type ProxyAnswer, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { startTestService, type TestService } from '../../support/service.js';
import { authorize, connectOauth, signedIn } from './log-in.support.js';
import { type Machine, type OauthUpstream, registerMachine, startOauthUpstream } from './oauth-upstream.js';

const TYPE = 'client_credentials';
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const PEM = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
const JWK = JSON.stringify({ ...privateKey.export({ format: 'jwk' }), kid: 'one' });

describe('a connection whose account is that of its client', () => {
  let service: TestService;
  /** Another process, which may reach the upstream, and nothing else at a private address. */
  let strict: TestService;
  let upstream: OauthUpstream;
  /** Each test has its own, because sessions of earlier tests stay open. */
  let machine: Machine;
  /** A client at the upstream that has the key. */
  let client_id: string;

  beforeAll(async () => {
    upstream = await startOauthUpstream();
    const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }] };
    const keyed = await registerMachine(upstream, { token_endpoint_auth_method: 'private_key_jwt', jwks });
    client_id = keyed.client_id;
    service = await startTestService();
    const env = { UPSTREAM_ALLOW_PRIVATE: 'false', UPSTREAM_ALLOW: new URL(upstream.url).host };
    strict = await startTestService({ database: service.database, env });
  });
  afterAll(async () => {
    await strict?.close();
    await service?.close();
    await upstream?.close();
  });
  beforeEach(async () => {
    machine = await registerMachine(upstream);
  });
  afterEach(() => {
    upstream.intercept = () => false;
    upstream.lifetimeS = 3600;
  });

  const connect = (auth: object = machine): Promise<string> =>
    connectTo(service, upstream.url, { auth: { type: TYPE, ...auth } });
  const update = (id: string, data: object): Promise<object> =>
    succeed(service, 'COLLECTION_CONNECTIONS_UPDATE', { id, data });
  const call = (id: string, app: TestService = service): Promise<ProxyAnswer> =>
    callProxy(app, pathOf(app, id), { key: service.apiKey, body: toolCall('whoami') });
  const textOf = (answer: ProxyAnswer): string | undefined => rpcOf(answer).result?.content?.[0]?.text;
  const tokens = (id = machine.client_id): number => upstream.machineTokens.filter((one) => one === id).length;
  /** The failed call, whose message must not contain a secret. */
  const expectFailure = async (id: string, code: string, message: string, app = service): Promise<void> => {
    const answer = await call(id, app);
    expect(answer.status).toBe(503);
    expect(errorIn(answer)?.message).toContain(message);
    expect(errorIn(answer)?.data.code).toBe(code);
    expect(answer.text).not.toContain(machine.client_secret);
  };
  /** Notes the forms and headers of token requests, which are answered with an error. */
  const noteTokenRequests = (at = upstream): { form: URLSearchParams; authorization: string | undefined }[] => {
    const noted: { form: URLSearchParams; authorization: string | undefined }[] = [];
    const note = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const form = new URLSearchParams(await text(request));
      noted.push({ form, authorization: request.headers.authorization });
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_scope"}');
    };
    at.intercept = (request, response, path) => {
      if (path !== '/token') return false;
      void note(request, response);
      return true;
    };
    return noted;
  };
  /** Changes the document that the upstream, or its authorization server, answers at a path. */
  const answering = (path: string, document: object): void => {
    upstream.intercept = (_request, response, asked) => {
      if (!asked.startsWith(path)) return false;
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(document)) !== undefined;
    };
  };
  const changeTokenEndpoint = async (endpoint: string): Promise<void> => {
    const path = '/.well-known/oauth-authorization-server';
    const metadata = (await (await fetch(`${upstream.issuer}/.well-known/openid-configuration`)).json()) as object;
    answering(path, { ...metadata, token_endpoint: endpoint });
  };

  it('calls as the client, with one token for many calls', async () => {
    const id = await connect();
    const answers = await Promise.all([call(id), call(id), call(id)]);
    expect(answers.map(textOf)).toEqual(Array(3).fill(machine.client_id));
    expect(textOf(await call(id))).toBe(machine.client_id);
    expect(tokens()).toBe(1);
    const [row] = await service.query<{ tokens: string }>(
      'SELECT tokens FROM upstream_authorizations WHERE connection_id = $1',
      [id],
    );
    const token = upstream.authorizations.at(-1)?.replace('Bearer ', '') ?? '';
    expect(token).not.toBe('');
    expect(row?.tokens).not.toContain(token);
  });

  it.each([
    ['PEM', PEM, undefined],
    ['a JWK', JWK, 'one'],
  ])('authenticates with a private key in %s', async (_form, private_key, kid) => {
    const id = await connect({ client_id, private_key });
    expect(textOf(await call(id))).toBe(client_id);
    const noted = noteTokenRequests();
    const scoped = await connect({ client_id, private_key, scope: 'tools more' });
    await expectFailure(scoped, 'upstream_unreachable', 'refused a token for auth.client_id: invalid_scope.');
    expect(noted).toHaveLength(1);
    const { form, authorization } = noted[0]!;
    const assertion = form.get('client_assertion') ?? '';
    expect(authorization).toBeUndefined();
    expect(Object.fromEntries(form)).toEqual({
      grant_type: TYPE,
      scope: 'tools more',
      resource: upstream.url,
      client_assertion: assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
    expect(decodeProtectedHeader(assertion)).toEqual({ alg: 'ES256', typ: 'JWT', ...(kid !== undefined && { kid }) });
    const { exp = 0, iat = 0, ...claims } = decodeJwt(assertion);
    expect(exp - iat).toBe(300);
    expect(claims).toEqual({
      iss: client_id,
      sub: client_id,
      aud: upstream.issuer,
      jti: expect.any(String),
    });
  });

  it('does not use a key where the server takes no signatures of it', async () => {
    const path = '/.well-known/oauth-authorization-server';
    const metadata = (await (await fetch(`${upstream.issuer}/.well-known/openid-configuration`)).json()) as object;
    const id = await connect({ client_id, private_key: PEM });
    answering(path, { ...metadata, token_endpoint_auth_signing_alg_values_supported: ['RS256'] });
    const before = tokens(client_id);
    await expectFailure(id, 'upstream_unreachable', 'takes no signatures of auth.private_key');
    expect(tokens(client_id)).toBe(before);
  });

  it('says that the server does not accept the secret, asks seldom, and works at once with the right one', async () => {
    const id = await connect({ ...machine, client_secret: 'wrong' });
    let asked = 0;
    upstream.intercept = (_request, _response, path) => {
      if (path === '/token') asked++;
      return false;
    };
    const message = 'does not accept auth.client_id with its auth.client_secret';
    for (let n = 0; n < 4; n++) await expectFailure(id, 'upstream_unreachable', message);
    expect(asked).toBeLessThan(4);
    // Another connection to the same server does not wait.
    expect(textOf(await call(await connect()))).toBe(machine.client_id);
    await update(id, { auth: { type: TYPE, ...machine } });
    await eventually(async () => expect(textOf(await call(id))).toBe(machine.client_id));
  });

  it('never uses the token of a former client, or of a person', async () => {
    const id = await connect();
    expect(textOf(await call(id))).toBe(machine.client_id);
    const other = await registerMachine(upstream);
    await update(id, { auth: { type: TYPE, ...other } });
    await eventually(async () => expect(textOf(await call(id))).toBe(other.client_id));
    expect(textOf(await call(id))).toBe(other.client_id);

    await update(id, { auth: { type: 'oauth' } });
    await eventually(async () => {
      expect(errorIn(await call(id))?.data.code).toBe('upstream_authorization_required');
    });
    const owner = await signedIn(service);
    expect((await authorize(owner, upstream, id, 'alice')).status).toBe(200);
    await eventually(async () => expect(textOf(await call(id))).toBe('alice'));
    await update(id, { auth: { type: TYPE, ...machine } });
    await eventually(async () => expect(textOf(await call(id))).toBe(machine.client_id));
  });

  it('gets another token once the upstream refuses the present one, and before that ends', async () => {
    const id = await connect();
    expect(textOf(await call(id))).toBe(machine.client_id);
    upstream.endAccessTokens(machine.client_id);
    expect((await Promise.all([call(id), call(id), call(id)])).map(textOf)).toEqual(Array(3).fill(machine.client_id));
    expect(tokens()).toBe(2);
    await service.query(
      "UPDATE upstream_authorizations SET refresh_at = now() - interval '1 second' WHERE connection_id = $1",
      [id],
    );
    await eventually(async () => {
      expect(textOf(await call(id))).toBe(machine.client_id);
      expect(tokens()).toBe(3);
    });
  });

  it('gives up on an upstream that refuses new tokens too', async () => {
    const id = await connect();
    upstream.intercept = (_request, response, path) =>
      path === '/mcp' && response.writeHead(401, { 'www-authenticate': 'Bearer' }).end() !== undefined;
    for (let n = 0; n < 4; n++) {
      await expectFailure(
        id,
        'upstream_unauthorized',
        'does not accept the access tokens that its authorization server',
      );
    }
    expect(tokens()).toBe(2);
  });

  it('gets one token for two processes, also at the moment at which it ends', async () => {
    const id = await connect();
    const callAll = (): Promise<ProxyAnswer[]> =>
      Promise.all([service, strict, service, strict].map((app) => call(id, app)));
    expect((await callAll()).map(textOf)).toEqual(Array(4).fill(machine.client_id));
    expect(tokens()).toBe(1);
    upstream.endAccessTokens(machine.client_id);
    expect((await callAll()).map(textOf)).toEqual(Array(4).fill(machine.client_id));
    expect(tokens()).toBe(2);
  });

  it('sends the secret to no other authorization server than before', async () => {
    const id = await connect();
    expect(textOf(await call(id))).toBe(machine.client_id);
    const other = await startOauthUpstream();
    try {
      const noted = noteTokenRequests(other);
      answering('/.well-known/oauth-protected-resource', {
        resource: upstream.url,
        authorization_servers: [other.issuer],
      });
      upstream.endAccessTokens(machine.client_id);
      await expectFailure(id, 'upstream_unreachable', 'names another authorization server');
      await succeed(service, 'CONNECTION_DEAUTHORIZE', { id });
      await update(id, { title: 'Later' });
      await expectFailure(id, 'upstream_unreachable', 'names another authorization server');
      expect(noted).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it('sends the secret to no private address, unless that is allowed', async () => {
    const hidden = await startOauthUpstream();
    try {
      const noted = noteTokenRequests(hidden);
      const id = await connect();
      await changeTokenEndpoint(`${hidden.issuer}/token`);
      await expectFailure(id, 'upstream_unreachable', 'is a loopback address', strict);
      expect(noted).toEqual([]);
    } finally {
      await hidden.close();
    }
  });

  it('sends the secret over no insecure connection, and not where it is redirected to', async () => {
    const [insecure, redirected] = [await connect(), await connect()];
    await changeTokenEndpoint('http://tokens.example/token');
    await expectFailure(
      insecure,
      'upstream_unreachable',
      'The token endpoint of the authorization server is not secure.',
    );
    const other = await startOauthUpstream();
    try {
      const noted = noteTokenRequests(other);
      upstream.intercept = (_request, response, path) =>
        path === '/token' && response.writeHead(307, { location: `${other.issuer}/token` }).end() !== undefined;
      await expectFailure(redirected, 'upstream_unreachable', 'answered with a redirect, which is not followed');
      expect(noted).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it('has no log-in, and revokes its token on request', async () => {
    const id = await connect();
    expect(textOf(await call(id))).toBe(machine.client_id);
    const sent = String(upstream.authorizations.at(-1));
    const refused = await service.tool('CONNECTION_AUTHORIZE', { id });
    expect(refused.status).toBe(400);
    expect(refused.body.detail).toContain('Nobody logs in for it.');
    const owner = await signedIn(service);
    expect((await owner.browser.get(`/connections/${id}/authorize`)).status).toBe(400);

    // The page of another connection has a link that is valid for this one too.
    const { text: page } = await owner.browser.get(`/connections/${await connectOauth(service, upstream)}/authorize`);
    const [, query = ''] = /\/continue\?([^"]*)"/.exec(page) ?? [];
    const begun = await owner.browser.get(`/connections/${id}/authorize/continue?${query.replaceAll('&amp;', '&')}`);
    expect(begun.status).toBe(400);

    await succeed(service, 'CONNECTION_DEAUTHORIZE', { id });
    const asked = await fetch(upstream.url, { method: 'POST', headers: { authorization: sent }, body: '{}' });
    expect(asked.status).toBe(401);
    await eventually(async () => expect(textOf(await call(id))).toBe(machine.client_id));
  });

  it('revokes the token of a client with a private key', async () => {
    const id = await connect({ client_id, private_key: PEM });
    expect(textOf(await call(id))).toBe(client_id);
    const sent = String(upstream.authorizations.at(-1));
    await succeed(service, 'CONNECTION_DEAUTHORIZE', { id });
    const asked = await fetch(upstream.url, { method: 'POST', headers: { authorization: sent }, body: '{}' });
    expect(asked.status).toBe(401);
  });

  it('serves agents: their MCP endpoint and their runs', async () => {
    const agent = await agentOf(service, [{ connection_id: await connect(), selected_tools: ['whoami'] }]);
    const path = gatewayPath(service, agent);
    expect((await listThrough(service, path)).names).toEqual(['whoami']);
    const { rpc } = await callThrough(service, path, 'whoami');
    expect(rpc.result?.content?.[0]?.text).toBe(machine.client_id);
    upstream.endAccessTokens(machine.client_id);
    const thread = await ThreadClient.create(service, agent);
    const { taskId, ...collected } = await thread.ask('/call whoami {}');
    const { parts } = await thread.expectWhole(taskId, collected);
    expect(parts.filter((part) => 'toolCallId' in part)).toEqual([
      expect.objectContaining({
        output: expect.objectContaining({ content: [{ type: 'text', text: machine.client_id }] }),
      }),
    ]);
    expect(tokens()).toBe(2);
  });
});
