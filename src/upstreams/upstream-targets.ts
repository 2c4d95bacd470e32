import { Injectable } from '@nestjs/common';
import { DomainError } from '../common/domain-error.js';
import { AppConfig } from '../config/app-config.js';
import type { Connection } from '../connections/connection.js';
import { ConnectionSecrets } from '../connections/connection-secrets.js';
import type { HttpTarget, StdioTarget, UpstreamTarget } from './upstream-target.js';

const DEFAULT_DIRECTORY = '/';

/** Injects the stored credentials: a connection in, what its kind of client needs out. */
@Injectable()
export class UpstreamTargets {
  private readonly commands: readonly string[];
  /** Goes with the connection, which is believed for less than a second: a busy one is not decrypted for each call. */
  private readonly targets = new WeakMap<Connection, UpstreamTarget>();

  constructor(
    private readonly secrets: ConnectionSecrets,
    config: AppConfig,
  ) {
    this.commands = config.settings.stdioCommands;
  }

  /** @throws DomainError `connection_unavailable` */
  of(connection: Connection): UpstreamTarget {
    const known = this.targets.get(connection);
    if (known !== undefined) return known;
    const target = this.targetOf(connection);
    this.targets.set(connection, target);
    return target;
  }

  private targetOf(connection: Connection): UpstreamTarget {
    if (connection.type === 'HTTP') return this.httpTarget(connection);
    if (connection.type === 'STDIO') return this.stdioTarget(connection);
    throw new DomainError('connection_unavailable', 'An agent cannot be called as a connection by this version.');
  }

  private httpTarget(connection: Connection): HttpTarget {
    const { id, url, revision, timeoutMs } = connection;
    if (url === null) throw new DomainError('connection_unavailable', 'The connection has no URL.');
    const credentials = opened(() => this.secrets.open(connection));
    return { connectionId: id, revision: String(revision), url, timeoutMs, ...credentials };
  }

  private stdioTarget({ id, stdio, sealed, revision, timeoutMs }: Connection): StdioTarget {
    if (stdio === null) throw new DomainError('connection_unavailable', 'The connection has no program.');
    const { command, args, cwd } = stdio;
    // The list may have become shorter since the connection was saved.
    if (!this.commands.includes(command)) {
      throw new DomainError('connection_unavailable', 'This service does not run the command of the connection.');
    }
    const env = opened(() => this.secrets.openStdioEnv(id, sealed.stdioEnv));
    const identity = { connectionId: id, revision: String(revision), timeoutMs };
    return { kind: 'stdio', ...identity, command, args, env, cwd: cwd ?? DEFAULT_DIRECTORY };
  }
}

function opened<T>(open: () => T): T {
  try {
    return open();
  } catch (cause) {
    const detail = 'The stored credentials of the connection cannot be decrypted; store them anew.';
    throw new DomainError('connection_unavailable', detail, [], { cause });
  }
}
