import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant, type Tenant } from '../support/tenant.js';
import { type AuthorizingShim, startAuthorizingShim } from './authorizing-shim.js';
import { covers } from './compare-checks.js';
import { type Checks, runSuite } from './run-suite.js';
import { SELF_EXCEPTIONS } from './self-exceptions.js';
import { SUITES } from './suites.js';

const RUN_TIMEOUT_MS = 120_000;

/** How many checks succeed, in the order of `SUITES`. Fewer would mean that a suite no longer gets anywhere. */
const SUCCEED = [5, 0, 29, 35, 99, 3];

let app: Tenant;
let shim: AuthorizingShim;
/** The checks of all suites that did not succeed. */
const failed = new Map<string, string>();

beforeAll(async () => {
  app = await newTenant();
  shim = await startAuthorizingShim(`${app.url}/api/${app.org}/mcp/self`, app.apiKey);
});
afterAll(async () => {
  await shim?.close();
  await app?.close();
});

const listed = Object.values(SELF_EXCEPTIONS)
  .flat()
  .map((name) => (name.includes(' / ') ? name : `${name} / ${name}`));

const isListed = (name: string): boolean => listed.some((exception) => covers(exception, name));

/** Those that did not succeed, with what the suite said. */
function failuresOf(checks: Checks): [name: string, said: string][] {
  const failures = [...checks].filter(([, { status }]) => status !== 'SUCCESS');
  return failures.map(([name, { status, reason }]) => [name, `${status}: ${reason}`]);
}

describe('the management tools as an MCP server', () => {
  it.each(SUITES.map((suite, index) => ({ ...suite, least: SUCCEED[index] ?? 0 })))(
    'pass the official conformance suite, $title, in all that applies to them',
    async ({ least, ...suite }) => {
      const checks = await runSuite(suite, shim.url);
      const failures = failuresOf(checks);
      for (const [name, said] of failures) failed.set(name, said);
      expect(Object.fromEntries(failures.filter(([name]) => !isListed(name)))).toEqual({});
      expect(checks.size - failures.length).toBeGreaterThanOrEqual(least);
    },
    RUN_TIMEOUT_MS,
  );

  it('have no exception that is none', () => {
    expect(listed.filter((exception) => ![...failed.keys()].some((name) => covers(exception, name)))).toEqual([]);
  });
});
