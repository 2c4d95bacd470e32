import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type EventActor, personAsActor } from '../../../audit/events/audit-event.js';
import { AuditEvents } from '../../../audit/events/audit-events.js';
import { DomainError } from '../../../core/domain-error.js';
import type { Principal } from '../../../core/principal.js';
import { PasswordChanges } from '../../../identity/users/password-changes.js';
import { type Connection, isMachine, connectionFor, hasMemberAccounts } from '../../connection.js';
import { ConnectionDirectory } from '../../connection-directory.js';
import { UpstreamClientRepository } from '../servers/upstream-client.repository.js';
import type { Account } from '../tokens/account-tokens.js';
import { TokenRequests } from '../tokens/token-requests.js';
import { UpstreamAccounts } from '../tokens/upstream-accounts.js';
import { UpstreamAuthorizationRepository } from '../tokens/upstream-authorization.repository.js';
import { OauthConnections } from './oauth-connections.js';

/** Stores and forgets the accounts of connections, and tells those who use them. */
@Injectable()
export class ConnectedAccounts {
  constructor(
    private readonly connections: OauthConnections,
    private readonly directory: ConnectionDirectory,
    private readonly registrations: UpstreamClientRepository,
    private readonly stored: UpstreamAuthorizationRepository,
    private readonly accounts: UpstreamAccounts,
    private readonly requests: TokenRequests,
    private readonly events: AuditEvents,
    passwordChanges: PasswordChanges,
  ) {
    passwordChanges.registerForOwner((manager, userId) => this.stored.removeOfPerson(manager, userId));
  }

  /** Stores the account that a person has logged in with. */
  async connect(connection: Connection, account: Account, userId: string): Promise<void> {
    await this.stored.replace(connection, account, (manager) =>
      this.record('connection.authorized', connection, personAsActor(userId), manager),
    );
    await this.changed(connection);
  }

  /**
   * Forgets the account of the connection or, if each member has an own one, that of the caller, and revokes its
   * tokens.
   * @throws DomainError `not_found`, `invalid_request` for a connection without OAuth, or `permission_denied`
   */
  async disconnect(id: string, caller: Principal): Promise<void> {
    const connection = await this.connections.requireOfOrganization(caller.organization.id, id);
    const bound = connectionFor(connection, caller.userId);
    if (hasMemberAccounts(connection) && bound.accountUserId === undefined) {
      throw new DomainError(
        'permission_denied',
        'Each member uses an own account; this credential belongs to no person.',
      );
    }
    const account = await this.stored.remove(bound, (manager) =>
      this.record('connection.deauthorized', bound, caller, manager),
    );
    // The next log-in can be at another authorization server. Without a log-in, nobody sees which one gets the secret.
    if (!hasMemberAccounts(connection) && !isMachine(connection)) await this.registrations.removeAll(id);
    await this.changed(bound);
    if (account !== undefined) await this.requests.revoke(id, account.tokens);
  }

  private record(
    event: 'connection.authorized' | 'connection.deauthorized',
    { id, title, organizationId, accountUserId }: Connection,
    actor: EventActor,
    manager: EntityManager,
  ): Promise<void> {
    const target = { type: 'connection', id, name: title } as const;
    const changes = { account: accountUserId === undefined ? 'connection' : 'member' };
    return this.events.record(organizationId, { event, actor, target, changes }, manager);
  }

  /** Sessions with the upstream belong to the account of the connection that opened them. */
  private async changed(connection: Connection): Promise<void> {
    this.accounts.forget(connection);
    if (!hasMemberAccounts(connection)) await this.directory.accountChanged(connection.id);
  }
}
