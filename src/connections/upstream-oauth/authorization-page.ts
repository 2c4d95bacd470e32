import { DomainError } from '../../core/domain-error.js';

/** The stable address of the page on which a person authorizes the account of a connection. */
export function pageOf(baseUrl: string, connectionId: string): string {
  return `${baseUrl}/connections/${connectionId}/authorize`;
}

/** The error of a call that cannot be made before a person has logged in at the upstream. */
export function authorizationRequired(title: string, url: string): DomainError {
  const detail = `The account of the connection "${title}" is not authorized at its upstream. Open ${url} to authorize it.`;
  return withPage(detail, url);
}

/** The same where the account is that of the person's sign-in with the issuer. */
export function signInRequired(title: string, url: string): DomainError {
  const detail =
    `The connection "${title}" acts with your sign-in at the identity provider, and there is none that is valid. ` +
    `Sign in again at the console: ${url}`;
  return withPage(detail, url);
}

/**
 * The error of a call for which the person is not let in, whatever the sign-in.
 * @param reason a sentence
 */
export function assertionRefused(title: string, reason: string, url: string): DomainError {
  const detail =
    `The connection "${title}" cannot be used: ${reason} Ask the administrator of the identity provider, or sign in ` +
    `again at the console: ${url}`;
  return withPage(detail, url);
}

/** The error of a call with the account of a client that acts for itself, whose tokens the upstream does not accept. */
export function clientRefused(title: string): DomainError {
  const detail =
    `The upstream of the connection "${title}" does not accept the access tokens that its authorization server issues ` +
    'to auth.client_id.';
  return new DomainError('upstream_unauthorized', detail);
}

/** The error of a call during which such an account was forgotten, or its client replaced. */
export function accountChanged(): DomainError {
  return new DomainError('upstream_unreachable', 'The account of the connection has changed during the call.');
}

/** The error of a call for which the upstream demands scopes that the account has not got. */
export function scopeRequired(title: string, url: string): DomainError {
  const detail = `The upstream demands more permissions of the account of the connection "${title}". Open ${url} to grant them.`;
  return withPage(detail, url);
}

function withPage(detail: string, url: string): DomainError {
  return new DomainError('upstream_authorization_required', detail, [], { data: { authorization_url: url } });
}
