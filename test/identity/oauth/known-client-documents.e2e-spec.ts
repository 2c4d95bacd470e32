import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { BoundedFetch } from '../../../src/platform/net/bounded-fetch.js';
import { KNOWN_CLIENT_DOCUMENTS } from '../../../src/identity/oauth/known-client-documents.js';
import { startTestApp, type TestApp } from '../../support/app.js';

/** How the service reaches other servers, as the test says. */
type Fetch = BoundedFetch['fetch'];

let service: TestApp;
/** With `OAUTH_CLIENT_DOCUMENTS=off`. */
let withoutDocuments: TestApp;
let requested: string[];

beforeAll(async () => {
  service = await startTestApp();
  withoutDocuments = await startTestApp({ database: service.database, env: { OAUTH_CLIENT_DOCUMENTS: 'off' } });
});
afterAll(async () => {
  await withoutDocuments?.close();
  await service?.close();
});

/** The network between the service and all other servers. */
function setNetwork({ app }: TestApp, answer: () => Response | Error): void {
  requested = [];
  const send: Fetch = (address) => {
    requested.push(String(address));
    const answered = answer();
    return answered instanceof Error ? Promise.reject(answered) : Promise.resolve(answered);
  };
  Object.assign(app.get(BoundedFetch, { strict: false }), { fetch: send });
}

function authorize(app: TestApp, clientId: string, redirectUri = 'https://client.example/callback') {
  return supertest(app.url)
    .get('/oauth/authorize')
    .redirects(0)
    .query({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
      resource: `${app.url}/api/default/mcp/self`,
    });
}

describe('a client id metadata document that cannot be fetched', () => {
  it.each([...KNOWN_CLIENT_DOCUMENTS.values()])(
    'is that which ships with the service: $client_name',
    async ({ client_id: clientId, redirect_uris: redirectUris }) => {
      setNetwork(service, () => new TypeError('fetch failed'));
      for (const redirectUri of redirectUris) {
        const anyPort = redirectUri.replace(/^(http:\/\/[^/:]+)(?::\d+)?\//, '$1:49152/');
        const answer = await authorize(service, clientId, anyPort);
        expect(answer.headers['location']).toMatch(/\/oauth\/interaction\//);
      }
      expect((await authorize(service, clientId)).status).toBe(400);
      expect(requested).toContain(clientId);
    },
  );

  it('leads to a page that says what an operator can do, if the service does not know it', async () => {
    setNetwork(service, () => new TypeError('fetch failed'));
    const { status, text } = await authorize(service, 'https://unknown.example/client.json');
    expect(status).toBe(400);
    expect(text).toContain('<strong>unknown.example</strong>');
    expect(text).toContain('OAUTH_CLIENT_DOCUMENTS=off');
  });
});

describe('OAUTH_CLIENT_DOCUMENTS=off', () => {
  it('offers no documents and fetches none', async () => {
    const supported = async ({ url }: TestApp): Promise<unknown> => {
      const { body } = await supertest(url).get('/.well-known/oauth-authorization-server').expect(200);
      return body['client_id_metadata_document_supported'];
    };
    expect(await supported(service)).toBe(true);
    expect(await supported(withoutDocuments)).not.toBe(true);
    setNetwork(withoutDocuments, () => new TypeError('fetch failed'));
    const [clientId = ''] = KNOWN_CLIENT_DOCUMENTS.keys();
    expect((await authorize(withoutDocuments, clientId, 'http://localhost/callback')).status).toBe(400);
    expect(requested).toEqual([]);
  });
});
