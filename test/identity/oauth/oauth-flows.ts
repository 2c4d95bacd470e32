import { createHash, randomBytes } from 'node:crypto';
import supertest from 'supertest';
import { addPerson, Browser, newEmail } from '../sign-in/people.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { type ProxiedUpstream, startProxiedUpstream } from '../../support/proxied-upstream.js';
import { rpc } from '../../support/proxy-calls.js';
import { follow } from './oauth-client.js';

export const REDIRECT = 'http://127.0.0.1:33418/callback';

/** An authorization request of a client that has registered for it. */
export interface Flow {
  clientId: string;
  verifier: string;
  /** The parameters of the authorization request. */
  params: Record<string, string>;
}

export function authorizePath({ params }: Flow): string {
  return `/oauth/authorize?${new URLSearchParams(params).toString()}`;
}

/** Authorization requests, step by step, at a service with a connection and the browser of an admin. */
export class OauthFlows {
  private constructor(
    private readonly upstream: ProxiedUpstream,
    /** The browser of a person who is signed in. */
    readonly browser: Browser,
    readonly email: string,
    /** The path of the connection's MCP endpoint. */
    readonly path: string,
  ) {}

  static async start(): Promise<OauthFlows> {
    const upstream = await startProxiedUpstream(() => newTenant({ TRUST_PROXY: '127.0.0.0/8' }));
    const email = newEmail();
    await addPerson(upstream.app, { email, name: 'Olga', role: 'admin' });
    const browser = new Browser(upstream.app.url);
    await browser.signIn(email);
    return new OauthFlows(upstream, browser, email, await upstream.connected());
  }

  close(): Promise<void> {
    return this.upstream.close();
  }

  get app(): Tenant {
    return this.upstream.app;
  }

  get url(): string {
    return this.app.url;
  }

  get resource(): string {
    return this.url + this.path;
  }

  /** Makes another connection; returns the path of its MCP endpoint. */
  connected(): Promise<string> {
    return this.upstream.connected();
  }

  /** Registers a client from an address of its own: the service limits registrations for each address. */
  async register(metadata: object = {}): Promise<supertest.Response> {
    return supertest(this.url)
      .post('/oauth/register')
      .set('x-forwarded-for', `198.51.${[...randomBytes(2)].join('.')}`)
      .send({ client_name: 'Test', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none', ...metadata });
  }

  /** @param changes parameters of the authorization request; undefined leaves one out */
  async newFlow(changes: Record<string, string | undefined> = {}, metadata: object = {}): Promise<Flow> {
    const { body } = await this.register(metadata);
    const verifier = randomBytes(32).toString('base64url');
    const params = {
      response_type: 'code',
      client_id: body.client_id,
      redirect_uri: REDIRECT,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: this.resource,
      state: 'state',
      ...changes,
    };
    const present = Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return { clientId: body.client_id, verifier, params: Object.fromEntries(present) };
  }

  /** What the client receives at its redirect. */
  async answerOf(flow: Flow, decision?: string): Promise<URLSearchParams> {
    const { searchParams, hash } = new URL(await follow(this.browser, authorizePath(flow), decision));
    return hash === '' ? searchParams : new URLSearchParams(hash.slice(1));
  }

  exchange(flow: Flow, code: string, changes: Record<string, string> = {}): supertest.Test {
    return supertest(this.url)
      .post('/oauth/token')
      .type('form')
      .send({
        grant_type: 'authorization_code',
        client_id: flow.clientId,
        code,
        redirect_uri: REDIRECT,
        code_verifier: flow.verifier,
        resource: this.resource,
        ...changes,
      });
  }

  refresh(flow: Flow, token: string): supertest.Test {
    return supertest(this.url)
      .post('/oauth/token')
      .type('form')
      .send({ grant_type: 'refresh_token', client_id: flow.clientId, refresh_token: token });
  }

  async tokensOf(flow: Flow): Promise<{ access_token: string; refresh_token: string }> {
    const { body } = await this.exchange(flow, (await this.answerOf(flow)).get('code') ?? '').expect(200);
    return body;
  }

  callWith(token: string, at = this.path): supertest.Test {
    return supertest(this.url)
      .post(at)
      .set({ authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' })
      .send(rpc('tools/list'));
  }
}
