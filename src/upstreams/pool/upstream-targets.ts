import { Injectable } from '@nestjs/common';
import { DomainError } from '../../core/domain-error.js';
import { AppConfig } from '../../core/config/app-config.js';
import type { Connection } from '../../connections/connection.js';
import { isSettable, type VariableRule } from '../../connections/environment-faults.js';
import { ConnectionSecrets } from '../../connections/connection-secrets.js';
import { UpstreamKinds } from '../../connections/upstream-kind.js';
import { UpstreamAccounts } from '../../connections/upstream-oauth/tokens/upstream-accounts.js';
import type { CustomTarget, HttpTarget, StdioTarget, UpstreamTarget } from '../contract/upstream-target.js';

const DEFAULT_DIRECTORY = '/';

/** Builds the target of a connection, with its decrypted credentials. */
@Injectable()
export class UpstreamTargets {
  private readonly commands: readonly string[];
  private readonly variables: VariableRule;
  /**
   * Cached by the connection object, which itself is cached for less than a second, so that a busy connection is not
   * decrypted for each call.
   */
  private readonly targets = new WeakMap<Connection, UpstreamTarget>();

  constructor(
    private readonly secrets: ConnectionSecrets,
    private readonly kinds: UpstreamKinds,
    private readonly accounts: UpstreamAccounts,
    config: AppConfig,
  ) {
    this.commands = config.settings.stdioCommands;
    this.variables = config.settings.stdioVariables;
  }

  /** @throws DomainError `connection_unavailable` */
  targetFor(connection: Connection): UpstreamTarget {
    const known = this.targets.get(connection);
    if (known !== undefined) return known;
    const target = { ...this.targetOf(connection), sharesState: connection.sharedState };
    this.targets.set(connection, target);
    return target;
  }

  private targetOf(connection: Connection): UpstreamTarget {
    if (connection.type === 'HTTP') return this.httpTarget(connection);
    if (connection.type === 'STDIO') return this.stdioTarget(connection);
    if (connection.type !== 'VIRTUAL') return this.customTarget(connection);
    throw new DomainError('connection_unavailable', 'This version cannot call an agent as a connection.');
  }

  private customTarget(connection: Connection): CustomTarget {
    const { id, organizationId, type, url, revision, timeoutMs } = connection;
    const connector = this.kinds.findByType(type);
    if (connector === undefined) {
      throw new DomainError('connection_unavailable', `This service does not have the connection type ${type}.`);
    }
    const credentials = opened(() => this.secrets.open(connection));
    const access = { connectionId: id, organizationId, url, timeoutMs, ...credentials };
    return { kind: 'custom', type, connector, connectionId: id, revision: String(revision), timeoutMs, access };
  }

  private httpTarget(connection: Connection): HttpTarget {
    const { id, organizationId, url, revision, timeoutMs } = connection;
    if (url === null) throw new DomainError('connection_unavailable', 'The connection has no URL.');
    const credentials = opened(() => this.secrets.open(connection));
    const target = { organizationId, connectionId: id, revision: String(revision), url, timeoutMs, ...credentials };
    if (connection.oauth === null) return target;
    return { ...target, accountUserId: connection.accountUserId, account: this.accounts.accessFor(connection) };
  }

  private stdioTarget({ id, organizationId, stdio, sealed, revision, timeoutMs }: Connection): StdioTarget {
    if (stdio === null) throw new DomainError('connection_unavailable', 'The connection has no program.');
    const { command, args, cwd } = stdio;
    // The allowed commands may have changed since the connection was saved.
    if (!this.commands.includes(command)) {
      throw new DomainError('connection_unavailable', 'This service does not allow the command of the connection.');
    }
    const env = opened(() => this.secrets.openStdioEnv(id, sealed.stdioEnv));
    this.refuseVariables(Object.keys(env));
    const identity = { connectionId: id, revision: String(revision), timeoutMs };
    return { kind: 'stdio', organizationId, ...identity, command, args, env, cwd: cwd ?? DEFAULT_DIRECTORY };
  }

  /** Checks stored variables again, because the rule may have changed since the connection was saved. */
  private refuseVariables(names: readonly string[]): void {
    const refused = names.filter((name) => !isSettable(name, this.variables));
    if (refused.length === 0) return;
    const detail =
      `This service does not allow connections to set ${refused.join(', ')}; STDIO_ENV_ALLOW lists the allowed ` +
      'variables.';
    throw new DomainError('connection_unavailable', detail);
  }
}

function opened<T>(open: () => T): T {
  try {
    return open();
  } catch (cause) {
    const detail = 'The stored credentials of the connection cannot be decrypted. Store them again.';
    throw new DomainError('connection_unavailable', detail, [], { cause });
  }
}
