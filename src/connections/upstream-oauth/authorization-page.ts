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

/** The error of a call for which the upstream demands scopes that the account has not got. */
export function scopeRequired(title: string, url: string): DomainError {
  const detail = `The upstream demands more permissions of the account of the connection "${title}". Open ${url} to grant them.`;
  return withPage(detail, url);
}

function withPage(detail: string, url: string): DomainError {
  return new DomainError('upstream_authorization_required', detail, [], { data: { authorization_url: url } });
}
