import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

/** What the issuer says about the person who signs in. */
interface IssuedClaims {
  sub: string;
  email?: string;
  email_verified?: boolean;
  name?: string;
}

/** A real OpenID provider on a loopback address, with a person who signs in without a form. */
export class Issuer {
  person: IssuedClaims = { sub: 'nobody' };

  private constructor(
    readonly url: string,
    private readonly server: Server,
  ) {}

  static async start(redirectUris: () => string[]): Promise<Issuer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const issuer = new Issuer(url, server);
    let handle: ReturnType<Provider['callback']> | undefined;
    server.on('request', (request, response) => {
      handle ??= issuer.#provider(redirectUris()).callback();
      void handle(request, response);
    });
    return issuer;
  }

  env(): Record<string, string> {
    return { OIDC_ISSUER: this.url, OIDC_CLIENT_ID: 'signalbox', OIDC_CLIENT_SECRET: 'issuer-secret' };
  }

  /** Follows the redirects of the issuer like a browser; returns the address of the callback. */
  async authorize(address: string): Promise<string> {
    const cookies = new Map<string, string>();
    let url = address;
    for (let i = 0; i < 10 && url.startsWith(this.url); i++) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      const location = response.headers.get('location');
      if (location === null) throw new Error(`The issuer answered ${response.status}: ${await response.text()}`);
      url = new URL(location, url).href;
    }
    return url;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  #provider(redirectUris: string[]): Provider {
    const provider = new Provider(this.url, {
      clients: [{ client_id: 'signalbox', client_secret: 'issuer-secret', redirect_uris: redirectUris }],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      cookies: { keys: ['test'] },
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      findAccount: () => ({ accountId: this.person.sub, claims: () => ({ ...this.person }) }),
      loadExistingGrant: async (context) => {
        const { client, session } = context.oidc;
        const grant = new context.oidc.provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
      interactions: { url: () => '/finish' },
    });
    provider.use(async (context, next) => {
      if (context.path !== '/finish') return next();
      const result = { login: { accountId: this.person.sub } };
      context.redirect(await provider.interactionResult(context.req, context.res, result));
    });
    return provider;
  }
}
