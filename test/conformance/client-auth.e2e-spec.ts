import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { succeed } from '../support/agent-runs.js';
import { startTestService, type TestService } from '../support/service.js';
import {
  callProxy,
  errorIn,
  pathOf,
  rpc,
  type RpcAnswer,
  rpcOf,
  TAKES_JSON,
  toolCall,
} from '../support/proxy-calls.js';
import { connectEnterprise, employ, signInAt } from '../connections/upstream-oauth/enterprise.support.js';
import { answerOf, begin, connectOauth, type Person, signedIn } from '../connections/upstream-oauth/log-in.support.js';
import { Issuer } from '../identity/sign-in/issuer.js';
import { connectTo } from '../support/proxy-connections.js';
import { AUTH_EXCEPTIONS, AUTH_SCENARIOS, MAY_GIVE_UP } from './client-auth-scenarios.js';
import {
  type ClientSuiteResult,
  type ClientTask,
  listAuthScenarios,
  runClientScenario,
  runClientScenarios,
  SUITE_TIMEOUT_MS,
} from './run-client-scenario.js';

/** How often the person logs in for one call. The suite allows three authorization requests in all. */
const MAX_LOG_INS = 4;
const SECURE_URL = 'https://box.example';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
/** The extensions in which a connection acts as its own client. */
const MACHINE_SCENARIOS: ReadonlySet<string> = new Set([
  'auth/client-credentials-basic',
  'auth/client-credentials-jwt',
]);

/** A connection to a server of the suite, and the key with which it is called. */
interface Use {
  readonly id: string;
  readonly key: string;
}

/** The service as a client of the suite's servers, with the person who authorizes its accounts. */
class UpstreamClient {
  private constructor(
    private readonly service: TestService,
    private readonly person: Person,
  ) {}

  static async start(service: TestService): Promise<UpstreamClient> {
    return new UpstreamClient(service, await signedIn(service));
  }

  /** Connects the service to the server, then lists and calls its tools as an MCP client of the service does. */
  readonly use = async (task: ClientTask): Promise<void> => {
    const use = await this.connect(task);
    for (const name of await this.listTools(use)) await this.call(use, toolCall(name));
  };

  private async connect({ scenario, url, context }: ClientTask): Promise<Use> {
    const { client_id, client_secret, private_key_pem: private_key } = context;
    if (context['idp_token_endpoint'] !== undefined) return this.connectEmployee(url, context);
    if (MACHINE_SCENARIOS.has(scenario)) {
      const auth = { type: 'client_credentials', client_id, client_secret, private_key };
      return { id: await connectTo(this.service, url, { auth }), key: this.service.apiKey };
    }
    const auth = { account: 'connection', ...(client_id !== undefined && { client_id, client_secret }) };
    return { id: await connectOauth(this.service, { url }, auth), key: this.service.apiKey };
  }

  /**
   * Signs a person in with the issuer of the service. The suite's identity provider has no sign-in, and accepts only
   * the ID token that it has given, so the issuer asks it for the assertion with that one.
   */
  private async connectEmployee(url: string, context: ClientTask['context']): Promise<Use> {
    const { client_id, client_secret, idp_token_endpoint: endpoint, idp_id_token: idToken } = context;
    const id = await connectEnterprise(this.service, url, { client_id, client_secret });
    const person = await employ(this.service);
    await signInAt(issuer, person);
    issuer.exchanges.delegate = async ({ sub, subject_token: _own, ...request }) => {
      expect(sub).toBe(person.sub);
      const form = { grant_type: TOKEN_EXCHANGE, ...request, subject_token: String(idToken) };
      const sent = Object.entries(form).filter((pair): pair is [string, string] => pair[1] !== undefined);
      const answer = await fetch(String(endpoint), { method: 'POST', body: new URLSearchParams(sent) });
      return (await answer.json()) as object;
    };
    return { id, key: person.key };
  }

  /** Until somebody has signed in, the list has the stand-in alone. */
  private async listTools(use: Use): Promise<string[]> {
    for (let logIns = 0; ; logIns++) {
      const { result } = await this.call(use, rpc('tools/list'));
      const names = (result?.tools ?? []).map(({ name }) => name);
      if (!names.includes('sign_in') || logIns === MAX_LOG_INS) return names;
      await this.logIn(use.id);
    }
  }

  private async call({ id, key }: Use, body: object): Promise<RpcAnswer> {
    for (let logIns = 0; ; logIns++) {
      const answer = await callProxy(this.service, pathOf(service, id), { key, headers: TAKES_JSON, body });
      const error = errorIn(answer);
      if (error === undefined) return rpcOf(answer);
      if (error.data.code !== 'upstream_authorization_required' || logIns === MAX_LOG_INS) {
        throw new Error(`${error.data.code}: ${error.message}`);
      }
      await this.logIn(id);
    }
  }

  private async logIn(id: string): Promise<void> {
    const page = await succeed<{ authorization_url: string }>(this.service, 'CONNECTION_AUTHORIZE', { id });
    expect(new URL(page.authorization_url).pathname).toBe(`/connections/${id}/authorize`);
    const { pathname, search } = await answerOf(await begin(this.person, id));
    const { status, text } = await this.person.browser.get(pathname + search);
    if (status !== 200) throw new Error(`The log-in failed: ${status} ${text.replaceAll(/<[^>]+>/g, ' ')}`);
  }
}

let issuer: Issuer;
let service: TestService;
let secureService: TestService;
let client: UpstreamClient;
let secureClient: UpstreamClient;

beforeAll(async () => {
  issuer = await Issuer.start(() => [`${service.url}/auth/oidc/callback`]);
  service = await startTestService({ env: issuer.env() });
  client = await UpstreamClient.start(service);
  secureService = await startTestService({ env: { BASE_URL: SECURE_URL } });
  secureClient = await UpstreamClient.start(secureService);
});
afterAll(async () => {
  await secureService?.close();
  await service?.close();
  issuer?.close();
});

const REVISIONS = [...new Set(Object.values(AUTH_SCENARIOS).flat())].map((revision) => ({
  revision,
  scenarios: Object.keys(AUTH_SCENARIOS).filter((name) => AUTH_SCENARIOS[name]?.includes(revision)),
}));

describe('the service as the client of an upstream that demands OAuth', () => {
  it('is tested with every auth scenario of the suite', async () => {
    expect(await listAuthScenarios()).toEqual(AUTH_SCENARIOS);
    const names = Object.keys(AUTH_SCENARIOS);
    expect(names).toEqual(expect.arrayContaining([...Object.keys(AUTH_EXCEPTIONS), ...MAY_GIVE_UP]));
  });

  describe.each(REVISIONS)('$revision', ({ revision, scenarios }) => {
    let suite: ClientSuiteResult;

    beforeAll(async () => {
      suite = await runClientScenarios(revision, client.use);
    }, SUITE_TIMEOUT_MS);

    it.each(scenarios)('%s', (scenario) => {
      const result = suite.results.get(scenario);
      if (result === undefined) throw new Error(`It did not run. ${suite.output}`);
      const { checks, clientError } = result;
      const failures = [...checks].filter(([, { status }]) => status !== 'SUCCESS');
      const exceptions = (AUTH_EXCEPTIONS[scenario]?.checks ?? []).map((check) => `${scenario} / ${check}`);
      expect(checks.size).toBeGreaterThan(exceptions.length);
      if (exceptions.length > 0) {
        expect(failures.map(([name]) => name).toSorted()).toEqual(exceptions.toSorted());
      } else {
        expect(failures).toEqual([]);
        if (!MAY_GIVE_UP.has(scenario)) expect(clientError).toBeUndefined();
      }
    });
  });

  it(
    'presents its own client id metadata document, where the suite expects that of its example',
    async () => {
      const { checks } = await runClientScenario('auth/basic-cimd', '2026-07-28', secureClient.use);
      const failures = [...checks].filter(([, { status }]) => status !== 'SUCCESS');
      expect(failures).toEqual([
        [
          'auth/basic-cimd / cimd-client-id-used',
          {
            status: 'WARNING',
            reason: expect.stringContaining(`"actualClientId":"${SECURE_URL}/oauth/client-metadata/`),
          },
        ],
      ]);
      expect([...checks.keys()]).not.toContain('auth/basic-cimd / client-registration');
    },
    SUITE_TIMEOUT_MS,
  );
});
