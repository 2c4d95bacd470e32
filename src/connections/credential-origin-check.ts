import { isDeepStrictEqual } from 'node:util';
import { faultAt } from '../core/domain-error.js';
import { isSameOrigin } from '../platform/net/same-origin.js';
import type { StdioProgram } from './connection.js';
import { type ConnectionUpdateData, MASK } from './connection.dto.js';
import type { ConnectionEntity } from './connection.entity.js';

const MESSAGE =
  'The stored credentials belong to another server. To change the server, send connection_token, ' +
  'connection_headers and auth again, or null, in the same update.';

/**
 * Binds stored credentials to the server that they were stored for. Otherwise a caller who can change the address, but
 * cannot read the secrets, could have them sent to a server of their own. A server is an origin; all its paths share
 * the credentials.
 * @throws DomainError `invalid_request`
 */
export function refuseCredentialsForNewOrigin(stored: ConnectionEntity, data: ConnectionUpdateData): void {
  if (data.connection_url === undefined) return;
  if (stored.connectionUrl !== null && isSameOrigin(stored.connectionUrl, data.connection_url)) return;
  if (!keepsToken(stored, data) && !keepsHeaders(stored, data) && !keepsClientSecret(stored, data)) return;
  throw faultAt('data.connection_url', 'credentials_kept', MESSAGE);
}

/**
 * The same for a program: a caller who can change it, but cannot read its environment, could otherwise have it print
 * the secrets. Different arguments or another directory count as another program.
 * @throws DomainError `invalid_request`
 */
export function refuseEnvironmentForNewProgram(
  { stdio }: ConnectionEntity,
  program: StdioProgram,
  env: Readonly<Record<string, string>>,
): void {
  if (!Object.values(env).includes(MASK) || isDeepStrictEqual(stdio, program)) return;
  const message =
    'The stored values belong to another program. To change the program, send the values again in the same update.';
  throw faultAt('data.stdio.env', 'credentials_kept', message);
}

function keepsToken(stored: ConnectionEntity, { connection_token: token, auth }: ConnectionUpdateData): boolean {
  if (auth !== undefined && auth.type !== 'token') return false;
  return stored.connectionToken !== null && (token === undefined || token === MASK);
}

function keepsHeaders(stored: ConnectionEntity, { connection_headers: change }: ConnectionUpdateData): boolean {
  if (stored.connectionHeaders === null || change === null) return false;
  return change === undefined || Object.values(change.headers).includes(MASK);
}

/** The new server would name the authorization server that gets the secret. */
function keepsClientSecret(stored: ConnectionEntity, { auth }: ConnectionUpdateData): boolean {
  if (stored.oauthClientSecret === null) return false;
  return auth === undefined || auth.client_secret === MASK || auth.private_key === MASK;
}
