import { isDeepStrictEqual } from 'node:util';
import { type DomainError, faultAt } from '../core/domain-error.js';
import { MASK, type ConnectionUpdateData } from './connection.dto.js';
import { isSameOrigin } from '../platform/net/same-origin.js';
import type { StdioProgram } from './connection.js';
import type { ConnectionEntity } from './connection.entity.js';

type Values = Readonly<Record<string, string>>;

/** How the names in a map of secrets are compared, and the path of each name in the request. */
interface SecretNames {
  readonly fold: (name: string) => string;
  readonly pathOf: (name: string) => string;
}

/**
 * Replaces each `***` by the stored value of the same name. Opens `stored` only if the map contains `***`.
 * @throws DomainError `invalid_request`
 */
export function unmasked(sent: Values, stored: () => Values, { fold, pathOf }: SecretNames): Values {
  if (!Object.values(sent).includes(MASK)) return sent;
  const known = new Map(Object.entries(stored()).map(([name, value]) => [fold(name), value]));
  const entries = Object.entries(sent).map(([name, value]) => {
    if (value !== MASK) return [name, value] as const;
    const kept = known.get(fold(name));
    if (kept === undefined) throw nothingStored(pathOf(name));
    return [name, kept] as const;
  });
  return Object.fromEntries(entries);
}

export function nothingStored(path: string): DomainError {
  return faultAt(path, 'nothing_stored', `${MASK} stands for a stored value, but no value is stored here.`);
}

const OTHER_SERVER =
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
  throw faultAt('data.connection_url', 'credentials_kept', OTHER_SERVER);
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
