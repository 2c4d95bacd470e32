import { isDeepStrictEqual } from 'node:util';
import { DomainError } from '../common/domain-error.js';
import { isSameOrigin } from '../net/same-origin.js';
import type { StdioProgram } from './connection.js';
import { type ConnectionUpdateData, MASK } from './connection.dto.js';
import type { ConnectionEntity } from './connection.entity.js';

const MESSAGE =
  'The stored credentials were given for another server. To change it, send connection_token and connection_headers ' +
  'again, or null, in the same update.';

/**
 * Stored credentials stay with the server that they were given for: who may change an address but not read the secrets
 * could else have them sent to a server of their own. A server is an origin; its paths share the credentials.
 * @throws DomainError `invalid_request`
 */
export function refuseCarriedCredentials(stored: ConnectionEntity, data: ConnectionUpdateData): void {
  if (data.connection_url === undefined) return;
  if (stored.connectionUrl !== null && isSameOrigin(stored.connectionUrl, data.connection_url)) return;
  if (!keepsToken(stored, data) && !keepsHeaders(stored, data)) return;
  const path = 'data.connection_url';
  throw new DomainError('invalid_request', `${path}: ${MESSAGE}`, [
    { path, code: 'credentials_kept', message: MESSAGE },
  ]);
}

/**
 * The same for a program: who may change it but not read its environment could else have the secrets printed. Any other
 * argument or directory counts as another program.
 * @throws DomainError `invalid_request`
 */
export function refuseCarriedEnvironment(
  { stdio }: ConnectionEntity,
  program: StdioProgram,
  env: Readonly<Record<string, string>>,
): void {
  if (!Object.values(env).includes(MASK) || isDeepStrictEqual(stdio, program)) return;
  const path = 'data.stdio.env';
  const message = 'The stored values were given to another program. To change it, send them again in the same update.';
  throw new DomainError('invalid_request', `${path}: ${message}`, [{ path, code: 'credentials_kept', message }]);
}

function keepsToken(stored: ConnectionEntity, { connection_token: token }: ConnectionUpdateData): boolean {
  return stored.connectionToken !== null && (token === undefined || token === MASK);
}

function keepsHeaders(stored: ConnectionEntity, { connection_headers: change }: ConnectionUpdateData): boolean {
  if (stored.connectionHeaders === null || change === null) return false;
  return change === undefined || Object.values(change.headers).includes(MASK);
}
