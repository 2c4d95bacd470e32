import type { AccountTokens } from './account-tokens.js';

/**
 * Of the scopes that an account requests, so that an upstream cannot make the address of the log-in arbitrarily long.
 */
const MAX_SCOPE_LENGTH = 2048;
/** RFC 6749 §3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: +[\x21\x23-\x5b\x5d-\x7e]+)*$/;

/** All these scopes, each once, separated by spaces; undefined if there is none. */
export function uniteScopes(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => scope?.split(' ') ?? []));
  all.delete('');
  return all.size === 0 ? undefined : [...all].join(' ');
}

/** What a demand for more scopes means for an account. */
type ScopeDemand = 'noted' | 'new' | 'useless';

/**
 * `new` if a log-in that requests these scopes can help, `noted` if the next log-in will request them anyway, `useless`
 * if the last one requested them already or they cannot be requested.
 */
export function judgeDemand({ scope, demandedScope }: AccountTokens, demanded: string): ScopeDemand {
  if (!SCOPE.test(demanded) || includesScope(scope, demanded)) return 'useless';
  if (includesScope(uniteScopes(scope, demandedScope), demanded)) return 'noted';
  return (uniteScopes(scope, demandedScope, demanded)?.length ?? 0) > MAX_SCOPE_LENGTH ? 'useless' : 'new';
}

function includesScope(scope: string | undefined, part: string): boolean {
  return uniteScopes(scope, part)?.length === uniteScopes(scope)?.length;
}
