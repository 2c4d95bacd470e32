import type { Checks } from './run-suite.js';

/** What a proxy did to a server's conformance. */
export interface Comparison {
  /** How many checks pass without the proxy. */
  passesDirect: number;
  /** Checks that only pass without the proxy, with what the suite said of them; listed exceptions are left out. */
  lost: Record<string, string>;
  /** Listed exceptions that are none: they pass through the proxy, or do not pass direct. */
  needless: string[];
}

/** Compares the same suite's checks, direct and through the proxy, one by one. */
export function compareChecks(
  direct: Checks,
  proxied: Checks,
  exceptions: Readonly<Record<string, string>>,
): Comparison {
  const passing = [...direct.keys()].filter((name) => direct.get(name)?.status === 'SUCCESS');
  const notProxied = passing.filter((name) => proxied.get(name)?.status !== 'SUCCESS');
  const saidOf = (name: string): string => {
    const check = proxied.get(name);
    return check === undefined ? 'was not made' : `${check.status}: ${check.reason}`;
  };
  return {
    passesDirect: passing.length,
    lost: Object.fromEntries(
      notProxied.filter((name) => !Object.hasOwn(exceptions, name)).map((name) => [name, saidOf(name)]),
    ),
    needless: Object.keys(exceptions).filter((name) => !notProxied.includes(name)),
  };
}
