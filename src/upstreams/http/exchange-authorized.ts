import type { ExchangeOptions } from '../messages/upstream-channel.js';
import { discard } from '../messages/answer-body.js';
import type { HttpAnswer } from '../sockets/http-answer.js';
import type { UpstreamRequest, UpstreamSockets } from '../sockets/upstream-sockets.js';
import type { AccountAccess } from '../contract/upstream-target.js';

type Options = Pick<ExchangeOptions, 'signal' | 'onStop'>;

/**
 * Sends the request with an access token, if the upstream demands OAuth. A 401 says that the upstream did not take the request
 * (RFC 6750 §3.1), so it is sent once more with another token.
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
  if (answer.status !== 401) return answer;
  discard(answer.body);
  const renewed = await account.renew(token);
  const second = await sockets.exchange(withToken(request, renewed), options);
  if (second.status !== 401) return second;
  discard(second.body);
  throw account.refused(renewed);
}

function withToken(request: UpstreamRequest, token: string): UpstreamRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}
