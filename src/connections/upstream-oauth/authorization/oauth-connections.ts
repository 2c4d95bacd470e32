import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../core/domain-error.js';
import { allows, SELF } from '../../../core/permissions.js';
import { type Connection, isEnterprise, isMachine, hasMemberAccounts, unknownConnection } from '../../connection.js';
import { ConnectionDirectory } from '../../connection-directory.js';
import { AuthorizationRightsRepository } from './authorization-rights.repository.js';

/** The management permission to log in for the account of a connection. */
const PERMISSION = 'CONNECTION_AUTHORIZE';

type OauthConnection = Connection & { readonly url: string };

/** Finds connections with OAuth, for those who are allowed to know of them. */
@Injectable()
export class OauthConnections {
  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly rights: AuthorizationRightsRepository,
  ) {}

  /** A connection for which a person does something on its page. @throws DomainError as `requireOfOrganization` does */
  async requireWithPage(organizationId: string, id: string): Promise<OauthConnection> {
    return requirePerson(await this.requireOfOrganization(organizationId, id));
  }

  /** @throws DomainError `not_found`, or `invalid_request` for a connection without OAuth */
  async requireOfOrganization(organizationId: string, id: string): Promise<OauthConnection> {
    return requireOauth(await this.directory.findConnection(organizationId, id));
  }

  /**
   * `requireForPage` for a log-in at the upstream.
   * @throws DomainError also `invalid_request` for one without log-ins
   */
  async requireForLogIn(id: string, userId: string): Promise<OauthConnection> {
    const connection = await this.requireForPage(id, userId);
    if (!isEnterprise(connection)) return connection;
    throw new DomainError('invalid_request', 'The account of the connection is that of the sign-in with the issuer.');
  }

  /**
   * A connection for whose account this person can act. Reveals it only to members of its organization.
   * @throws DomainError `not_found`, `permission_denied`, or `invalid_request` for a connection without OAuth
   */
  async requireForPage(id: string, userId: string): Promise<OauthConnection> {
    const found = await this.directory.findAnywhere(id);
    const permissions = found && (await this.rights.permissionsOf(found.organizationId, userId));
    const connection = requireOauth(permissions && found);
    if (!hasMemberAccounts(connection) && !allows(permissions ?? {}, SELF, PERMISSION)) {
      throw new DomainError(
        'permission_denied',
        `To log in for this connection, you need the permission ${PERMISSION}. Ask an owner or admin of the ` +
          'organization.',
      );
    }
    return requirePerson(connection);
  }
}

function requireOauth(connection: Connection | undefined): OauthConnection {
  if (connection === undefined) throw unknownConnection();
  if (connection.oauth === null || connection.url === null) {
    throw new DomainError('invalid_request', 'The connection does not use OAuth: its auth.type is not oauth.');
  }
  return connection as OauthConnection;
}

function requirePerson(connection: OauthConnection): OauthConnection {
  if (!isMachine(connection)) return connection;
  throw new DomainError(
    'invalid_request',
    'The account of the connection is that of its client. Nobody logs in for it.',
  );
}
