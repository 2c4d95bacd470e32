import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { auth, type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import type { Browser } from '../sign-in/people.js';

/** An OAuth client as MCP clients in the field have it: the provider of the SDK, with its state in memory. */
export class McpOauthClient implements OAuthClientProvider {
  /** Where the client sent the person's browser. */
  authorizationUrl: URL | undefined;
  information: OAuthClientInformationMixed | undefined;
  stored: OAuthTokens | undefined;
  private verifier = '';

  constructor(
    readonly redirectUrl = 'http://127.0.0.1:33418/callback',
    private readonly metadata: Partial<OAuthClientMetadata> = {},
  ) {}

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: 'Test client',
      redirect_uris: [this.redirectUrl],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      ...this.metadata,
    };
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    return this.information;
  }

  saveClientInformation(information: OAuthClientInformationMixed): void {
    this.information = information;
  }

  tokens(): OAuthTokens | undefined {
    return this.stored;
  }

  saveTokens(tokens: OAuthTokens): void {
    this.stored = tokens;
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier;
  }

  codeVerifier(): string {
    return this.verifier;
  }

  /** Connects an unmodified MCP client, with this browser doing the person's part. */
  connect(endpoint: string, browser: Browser): Promise<Client> {
    return this.connectWith(endpoint, (address) => {
      const { pathname, search } = new URL(address);
      return follow(browser, pathname + search);
    });
  }

  /**
   * @param visit does the person's part at an address, and resolves with the address to which the browser is sent back
   */
  async connectWith(endpoint: string, visit: (address: string) => Promise<string>): Promise<Client> {
    const first = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: this });
    const client = newClient();
    try {
      await client.connect(first);
      return client;
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
    }
    const { searchParams } = new URL(await visit(this.authorizationUrl?.href ?? ''));
    await first.finishAuth(searchParams.get('code') ?? '');
    const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: this });
    const authorized = newClient();
    await authorized.connect(transport);
    return authorized;
  }

  /** Gets tokens for a resource without connecting to it. */
  async authorize(endpoint: string, browser: Browser): Promise<OAuthTokens> {
    if ((await auth(this, { serverUrl: endpoint })) === 'REDIRECT') {
      await auth(this, { serverUrl: endpoint, authorizationCode: await this.consent(browser) });
    }
    if (this.stored === undefined) throw new Error('The client has no tokens.');
    return this.stored;
  }

  /** The address to which the authorization server sends the browser back. */
  async redirect(browser: Browser, decision = 'allow'): Promise<string> {
    if (this.authorizationUrl === undefined) throw new Error('The client did not ask for authorization.');
    const { pathname, search } = this.authorizationUrl;
    return follow(browser, pathname + search, decision);
  }

  /** Follows the browser from the authorization endpoint through the consent page; resolves with the code. */
  async consent(browser: Browser, decision = 'allow'): Promise<string> {
    const target = await this.redirect(browser, decision);
    const code = new URL(target).searchParams.get('code');
    if (code === null) throw new Error(`No code: ${target}`);
    return code;
  }
}

/** Follows redirects within the service, and answers the consent page. Resolves with the address outside of it. */
export async function follow(browser: Browser, path: string, decision = 'allow'): Promise<string> {
  let response = await browser.get(path);
  for (let step = 0; step < 10; step++) {
    const { location } = response.headers;
    if (location !== undefined) {
      const url = new URL(location, browser.url);
      if (url.origin !== new URL(browser.url).origin) return url.href;
      response = await browser.get(url.pathname + url.search);
      path = url.pathname + url.search;
    } else if (response.text.includes('name="decision"')) {
      response = await browser.submit(path, { decision });
    } else {
      throw new Error(`${response.status}: ${response.text.replaceAll(/<[^>]+>/g, ' ')}`);
    }
  }
  throw new Error('Too many redirects.');
}

function newClient(): Client {
  return new Client({ name: 'test', version: '1.0.0' });
}
