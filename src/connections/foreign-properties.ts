import { DomainError } from '../common/domain-error.js';
import type { ConnectionType } from './connection.js';
import type { ConnectionCreateData, ConnectionUpdateData } from './connection.dto.js';

const ABOUT = ['connection_type', 'title', 'description', 'status'];
const TARGET = [...ABOUT, 'timeout', 'public_tools'];

/** What may be set of each type. The rest of a VIRTUAL one is the agent's. */
const PROPERTIES: Readonly<Record<ConnectionType, readonly string[]>> = {
  HTTP: [...TARGET, 'connection_url', 'connection_token', 'connection_headers'],
  STDIO: [...TARGET, 'stdio'],
  VIRTUAL: ABOUT,
};

const HINTS: Readonly<Record<ConnectionType, string>> = {
  HTTP: 'An HTTP connection has no such property.',
  STDIO: 'A STDIO connection has no such property; what its program needs is in stdio.',
  VIRTUAL: 'A VIRTUAL connection has no such property; the agent is edited with COLLECTION_VIRTUAL_MCP_UPDATE.',
};

/** @throws DomainError `invalid_request` for properties that connections of this type do not have */
export function refuseForeignProperties(type: ConnectionType, data: ConnectionCreateData | ConnectionUpdateData): void {
  const faults = Object.entries(data)
    .filter(([name, value]) => value !== undefined && !PROPERTIES[type].includes(name))
    .map(([name]) => ({ path: `data.${name}`, code: `not_of_${type.toLowerCase()}`, message: HINTS[type] }));
  const [first] = faults;
  if (first !== undefined) throw new DomainError('invalid_request', `${first.path}: ${first.message}`, faults);
}
