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

/** True if an exception is this check, or `scenario / *` of its scenario. */
export function covers(exception: string, check: string): boolean {
  return exception === check || exception === check.replace(/ \/ .*/, ' / *');
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
  const listed = Object.keys(exceptions);
  const lost = notProxied.filter((name) => !listed.some((exception) => covers(exception, name)));
  return {
    passesDirect: passing.length,
    lost: Object.fromEntries(lost.map((name) => [name, saidOf(name)])),
    needless: listed.filter((exception) => !notProxied.some((name) => covers(exception, name))),
  };
}
