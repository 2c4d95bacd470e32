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
import { answerOf, begin, connectOauth, type Person, signedIn } from '../connections/upstream-oauth/log-in.support.js';
import { AUTH_EXCEPTIONS, AUTH_SCENARIOS } from './client-auth-scenarios.js';
import { type ClientTask, listAuthScenarios, runClientScenario, SCENARIO_TIMEOUT_MS } from './run-client-scenario.js';

/** How often the person logs in for one call. The suite allows three authorization requests in all. */
const MAX_LOG_INS = 4;
const SECURE_URL = 'https://box.example';

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
  readonly use = async ({ url, context: { client_id, client_secret } }: ClientTask): Promise<void> => {
    const auth = { account: 'connection', ...(client_id !== undefined && { client_id, client_secret }) };
    const id = await connectOauth(this.service, { url }, auth);
    for (const name of await this.listTools(id)) await this.call(id, toolCall(name));
  };

  /** Until somebody has signed in, the list has the stand-in alone. */
  private async listTools(id: string): Promise<string[]> {
    for (let logIns = 0; ; logIns++) {
      const { result } = await this.call(id, rpc('tools/list'));
      const names = (result?.tools ?? []).map(({ name }) => name);
      if (!names.includes('sign_in') || logIns === MAX_LOG_INS) return names;
      await this.logIn(id);
    }
  }

  private async call(id: string, body: object): Promise<RpcAnswer> {
    for (let logIns = 0; ; logIns++) {
      const answer = await callProxy(this.service, pathOf(service, id), {
        key: this.service.apiKey,
        headers: TAKES_JSON,
        body,
      });
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

let service: TestService;
let secureService: TestService;
let client: UpstreamClient;
let secureClient: UpstreamClient;

beforeAll(async () => {
  service = await startTestService();
  client = await UpstreamClient.start(service);
  secureService = await startTestService({ env: { BASE_URL: SECURE_URL } });
  secureClient = await UpstreamClient.start(secureService);
});
afterAll(async () => {
  await secureService?.close();
  await service?.close();
});

const RUNS = Object.entries(AUTH_SCENARIOS).flatMap(([scenario, revisions]) =>
  revisions.map((revision) => [scenario, revision] as const),
);

describe('the service as the client of an upstream that demands OAuth', () => {
  it('is tested with every auth scenario of the suite', async () => {
    expect(await listAuthScenarios()).toEqual(AUTH_SCENARIOS);
    expect(Object.keys(AUTH_SCENARIOS)).toEqual(expect.arrayContaining(Object.keys(AUTH_EXCEPTIONS)));
  });

  it.each(RUNS)(
    '%s (%s)',
    async (scenario, revision) => {
      const { checks, passes, output } = await runClientScenario(scenario, revision, client.use);
      const failures = [...checks].filter(([, { status }]) => status !== 'SUCCESS');
      const exceptions = (AUTH_EXCEPTIONS[scenario]?.checks ?? []).map((check) => `${scenario} / ${check}`);
      expect(checks.size).toBeGreaterThan(exceptions.length);
      if (exceptions.length > 0) {
        expect(failures.map(([name]) => name).toSorted()).toEqual(exceptions.toSorted());
      } else if (failures.length > 0 || !passes) {
        throw new Error(`${JSON.stringify(failures, null, 2)}\n${output}`);
      }
    },
    SCENARIO_TIMEOUT_MS,
  );

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
    SCENARIO_TIMEOUT_MS,
  );
});
