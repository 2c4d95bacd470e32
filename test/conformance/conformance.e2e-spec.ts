import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, succeed } from '../support/agent-runs.js';
import { newTenant, type Tenant } from '../support/tenant.js';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import { openLegacyClient, openModernClient } from '../support/field-clients.js';
import { startAuthorizingShim, type AuthorizingShim } from './authorizing-shim.js';
import { compareChecks, type Comparison } from './compare-checks.js';
import { startFixture, type Fixture } from './fixture/start-fixture.js';
import { runSuite, type Check } from './run-suite.js';
import { SUITES } from './suites.js';

const RUN_TIMEOUT_MS = 360_000;

/**
 * The ways to the fixture. What the caller of the proxy holds makes two of it: lists are relayed as they came, or
 * filtered.
 */
const WAYS = [
  { way: 'the proxy, for a caller who holds everything', through: 'proxy' },
  { way: 'the proxy, for a caller who holds each tool by its name', through: 'proxy' },
  { way: 'an agent', through: 'gateway' },
] as const;
type Way = (typeof WAYS)[number]['way'];

let fixture: Fixture;
let app: Tenant;
const shims = new Map<Way, AuthorizingShim>();

beforeAll(async () => {
  fixture = await startFixture();
  app = await newTenant();
  const connectionId = await connect(app, fixture.url, 'Conformance fixture');
  const permissions = { [connectionId]: [...(await toolNames()), 'resources', 'prompts'] };
  const { key } = await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'conformance', permissions });
  const target = `${app.url}/api/${app.org}/mcp/${connectionId}`;
  const agent = app.url + gatewayPath(app, await agentOf(app, [connectionId]));
  shims.set('the proxy, for a caller who holds everything', await startAuthorizingShim(target, app.apiKey));
  shims.set('the proxy, for a caller who holds each tool by its name', await startAuthorizingShim(target, key));
  shims.set('an agent', await startAuthorizingShim(agent, app.apiKey));
});

afterAll(async () => {
  for (const shim of shims.values()) await shim.close();
  await app?.close();
  await fixture?.close();
});

/** The tools of both eras. */
async function toolNames(): Promise<string[]> {
  const names = new Set<string>();
  for (const client of [await openLegacyClient(fixture), await openModernClient(fixture, 'auto')]) {
    for (const { name } of (await client.listTools()).tools) names.add(name);
    await client.close();
  }
  return [...names];
}

describe.each(SUITES)('the official conformance suite, $title', (suite) => {
  const comparisons = new Map<string, Comparison>();

  // One after the other: some checks are about time.
  beforeAll(async () => {
    const direct = await runSuite(suite, fixture.url);
    for (const { way, through } of WAYS) {
      const checks = await runSuite(suite, shims.get(way)?.url ?? '');
      comparisons.set(way, compareChecks(direct, checks, suite.exceptions[through]));
    }
  }, RUN_TIMEOUT_MS);

  it('passes direct what it always passed', () => {
    expect(comparisons.get(WAYS[0].way)?.passesDirect).toBeGreaterThanOrEqual(suite.passesDirect);
  });

  it.each(WAYS)('passes whatever passes direct through $way', ({ way }) => {
    const { lost, needless } = comparisons.get(way) ?? {};
    expect({ lost, needless }).toEqual({ lost: {}, needless: [] });
  });
});

describe('the comparison', () => {
  const good: Check = { status: 'SUCCESS', reason: '' };
  const bad: Check = { status: 'FAILURE', reason: 'too late' };
  const direct = new Map([
    ['a', good],
    ['b', good],
    ['c', bad],
  ]);

  it('tells which checks are lost, and those that were not made at all', () => {
    const { passesDirect, lost } = compareChecks(
      direct,
      new Map([
        ['a', bad],
        ['c', good],
      ]),
      {},
    );
    expect({ passesDirect, lost }).toEqual({ passesDirect: 2, lost: { a: 'FAILURE: too late', b: 'was not made' } });
  });

  it('takes an exception for a check or for a scenario', () => {
    const checks = new Map([
      ['a / 1', good],
      ['a / 2', good],
      ['ab / 1', good],
    ]);
    const exceptions = { 'a / *': 'all of it', 'b / *': 'does not exist' };
    expect(compareChecks(checks, new Map(), exceptions)).toEqual({
      passesDirect: 3,
      lost: { 'ab / 1': 'was not made' },
      needless: ['b / *'],
    });
  });

  it('tells which exceptions are none', () => {
    const proxied = new Map([
      ['a', bad],
      ['b', good],
      ['c', bad],
    ]);
    const exceptions = { a: 'is one', b: 'passes meanwhile', c: 'fails direct too', d: 'does not exist' };
    expect(compareChecks(direct, proxied, exceptions)).toMatchObject({ lost: {}, needless: ['b', 'c', 'd'] });
  });
});
