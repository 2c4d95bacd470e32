import type { ExchangeOptions } from '../messages/upstream-channel.js';
import { discard } from '../messages/answer-body.js';
import type { HttpAnswer } from '../sockets/http-answer.js';
import type { UpstreamRequest, UpstreamSockets } from '../sockets/upstream-sockets.js';
import type { AccountAccess } from '../contract/upstream-target.js';

/** The parameters of a challenge (RFC 6750 §3). */
const INSUFFICIENT_SCOPE = /[\s,]error="?insufficient_scope\b/;
const SCOPE = /[\s,]scope="([^"]+)"/;

type Options = Pick<ExchangeOptions, 'signal' | 'onStop'>;

/**
 * Sends the request with an access token, if the upstream demands OAuth. A 401 says that the upstream did not take the request
 * (RFC 6750 §3.1), so it is sent once more with another token. A 403 can demand more scopes (MCP 2025-11-25, "Step-Up Authorization
 * Flow"), which a person has to grant.
 * @throws as `UpstreamSockets.exchange`, and DomainError `upstream_authorization_required`
 */
export function exchangeAuthorized(
  sockets: UpstreamSockets,
  request: UpstreamRequest,
  options: Options,
): Promise<HttpAnswer> {
  const { account } = request.target;
  return account === undefined ? sockets.exchange(request, options) : exchangeAs(account, sockets, request, options);
}

async function exchangeAs(
  account: AccountAccess,
  sockets: UpstreamSockets,
  request: UpstreamRequest,
  options: Options,
): Promise<HttpAnswer> {
  const known = account.token();
  const token = typeof known === 'string' ? known : await known;
  const answer = await sockets.exchange(withToken(request, token), options);
  if (answer.status !== 401) return answer.status === 403 ? stepUp(account, answer) : answer;
  discard(answer.body);
  const renewed = await account.renew(token);
  const second = await sockets.exchange(withToken(request, renewed), options);
  if (second.status !== 401) return second.status === 403 ? stepUp(account, second) : second;
  discard(second.body);
  throw account.refused(renewed);
}

/** Returns the answer unless a person can grant what it demands. */
async function stepUp(account: AccountAccess, answer: HttpAnswer): Promise<HttpAnswer> {
  const challenge = String(answer.headers['www-authenticate']);
  const [, scope] = SCOPE.exec(challenge) ?? [];
  if (scope === undefined || !INSUFFICIENT_SCOPE.test(challenge)) return answer;
  const required = await account.demandScope(scope);
  if (required === undefined) return answer;
  discard(answer.body);
  throw required;
}

function withToken(request: UpstreamRequest, token: string): UpstreamRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}
