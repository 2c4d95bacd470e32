import { Injectable } from '@nestjs/common';
import { DomainError } from '../common/domain-error.js';
import type { Connection, ConnectionCredentials, ConnectionType } from '../connections/connection.js';
import { ConnectionSecrets } from '../connections/connection-secrets.js';
import type { UpstreamTarget } from './upstream-target.js';

const NOT_HTTP: Readonly<Record<Exclude<ConnectionType, 'HTTP'>, string>> = {
  STDIO: 'STDIO connections cannot be called by this version.',
  VIRTUAL: 'An agent cannot be called as a connection by this version.',
};

/** Injects the stored credentials: a connection in, what the HTTP client needs out. */
@Injectable()
export class UpstreamTargets {
  constructor(private readonly secrets: ConnectionSecrets) {}

  /** @throws DomainError `connection_unavailable` */
  of(connection: Connection): UpstreamTarget {
    const { id, type, url, revision, timeoutMs } = connection;
    if (type !== 'HTTP') throw new DomainError('connection_unavailable', NOT_HTTP[type]);
    if (url === null) throw new DomainError('connection_unavailable', 'The connection has no URL.');
    return { connectionId: id, revision: String(revision), url, timeoutMs, ...this.credentialsOf(connection) };
  }

  private credentialsOf(connection: Connection): ConnectionCredentials {
    try {
      return this.secrets.open(connection);
    } catch (cause) {
      const detail = 'The stored credentials of the connection cannot be decrypted; store them anew.';
      throw new DomainError('connection_unavailable', detail, [], { cause });
    }
  }
}
