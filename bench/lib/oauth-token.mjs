import { createHash, randomBytes } from 'node:crypto';

const REDIRECT = 'http://127.0.0.1:9/callback';

/** Signs a person in as a browser does, and resolves with an access token for the endpoint. */
export async function oauthToken(endpoint, { email, password }) {
  const { origin } = new URL(endpoint);
  const browser = new FormBrowser(origin);
  await browser.submit('/sign-in', { email, password });
  const client = await post(`${origin}/oauth/register`, 'application/json', {
    client_name: 'Benchmark',
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: 'none',
  });
  const verifier = randomBytes(32).toString('base64url');
  const request = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: REDIRECT,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: endpoint,
  });
  const code = new URL(await browser.allow(`/oauth/authorize?${request}`)).searchParams.get('code');
  const tokens = await post(`${origin}/oauth/token`, 'application/x-www-form-urlencoded', {
    grant_type: 'authorization_code',
    client_id: client.client_id,
    code,
    redirect_uri: REDIRECT,
    code_verifier: verifier,
    resource: endpoint,
  });
  return tokens.access_token;
}

/** Keeps cookies and submits forms. */
class FormBrowser {
  #cookies = new Map();

  constructor(origin) {
    this.origin = origin;
  }

  async submit(path, fields) {
    const page = await (await this.#send(path)).text();
    const hidden = [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
    const body = new URLSearchParams({
      ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])),
      ...fields,
    });
    return this.#send(path, { method: 'POST', body });
  }

  /** Follows redirects and answers the consent page. Resolves with the address outside of the service. */
  async allow(path) {
    let [here, response] = [path, await this.#send(path)];
    for (;;) {
      const location = response.headers.get('location');
      if (location === null) {
        response = await this.submit(here, { decision: 'allow' });
        continue;
      }
      const url = new URL(location, this.origin);
      if (url.origin !== this.origin) return url.href;
      here = url.pathname + url.search;
      response = await this.#send(here);
    }
  }

  async #send(path, init = {}) {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(this.origin + path, { ...init, redirect: 'manual', headers: { cookie } });
    if (response.status >= 400) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      this.#cookies.set(name, value);
    }
    return response;
  }
}

async function post(url, type, fields) {
  const body = type === 'application/json' ? JSON.stringify(fields) : new URLSearchParams(fields).toString();
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response.json();
}
