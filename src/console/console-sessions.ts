import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Authenticator } from '../identity/auth/authenticator.js';
import { organizationPathOf } from '../identity/auth/protected-resource.js';
import { BrowserSessions } from '../identity/browser-sessions/browser-sessions.js';
import { DomainError } from '../core/domain-error.js';
import type { Principal } from '../core/principal.js';
import { requireThreadAccess } from '../core/thread-access.js';
import { OrganizationsService } from '../identity/organizations/organizations.service.js';
import { OpenIdClient } from '../identity/openid/openid-client.js';
import { UserService } from '../identity/users/user.service.js';
import type { ConsoleSession } from './console-session.dto.js';

/** The pages with which people sign in at the issuer of the service. */
const PROVIDER_PATH = '/auth/oidc';

interface Person {
  readonly id: string;
  readonly email: string | null;
  readonly name: string;
}

/** Describes who uses the console: a signed-in browser, or a key or token that was pasted. */
@Injectable()
export class ConsoleSessions {
  constructor(
    private readonly sessions: BrowserSessions,
    private readonly authenticator: Authenticator,
    private readonly organizations: OrganizationsService,
    private readonly users: UserService,
    private readonly issuer: OpenIdClient,
  ) {}

  /** The person who is signed in with this browser, if any. */
  async ofBrowser(request: FastifyRequest, csrfToken: string): Promise<ConsoleSession> {
    const user = await this.sessions.userOf(request);
    return user === undefined ? this.describe(csrfToken, null, []) : this.ofPerson(user, csrfToken);
  }

  async ofPerson(person: Person, csrfToken: string): Promise<ConsoleSession> {
    const memberships = await this.organizations.membershipsOf(person.id);
    const organizations = memberships.map(({ organizationSlug, organizationName, role, permissions }) => ({
      slug: organizationSlug,
      name: organizationName,
      role,
      permissions,
    }));
    return this.describe(csrfToken, person, organizations);
  }

  /**
   * The organization and the person of the credential in `Authorization`.
   * @throws DomainError `credential_invalid`, `credential_expired`; `permission_denied` for a browser token
   */
  async ofCredential(request: FastifyRequest, csrfToken: string): Promise<ConsoleSession> {
    const caller = await this.verify(request);
    const { slug, id } = caller.organization;
    const [{ name }, person] = await Promise.all([
      this.organizations.findById(id),
      caller.userId === null ? null : this.users.findById(caller.userId),
    ]);
    return this.describe(csrfToken, person, [{ slug, name, role: null, permissions: caller.permissions }]);
  }

  private async verify({ headers, raw }: FastifyRequest): Promise<Principal> {
    try {
      const caller = await this.authenticator.authenticate(headers.authorization, raw.socket);
      requireThreadAccess(caller, undefined, undefined);
      const { resource, organization } = caller;
      if (resource === undefined || resource === organizationPathOf(organization.slug).toLowerCase()) return caller;
      throw new DomainError('credential_invalid', 'The token was issued for another resource.');
    } catch (error) {
      if (!(error instanceof DomainError) || error.status !== 401) throw error;
      throw error.withHeaders({ 'www-authenticate': 'Bearer realm="signalbox",error="invalid_token"' });
    }
  }

  private describe(
    csrfToken: string,
    person: Person | null,
    organizations: ConsoleSession['organizations'],
  ): ConsoleSession {
    const { issuerName } = this.issuer;
    return {
      csrf_token: csrfToken,
      sign_in: { provider: issuerName ?? null, provider_path: issuerName === undefined ? null : PROVIDER_PATH },
      user: person && { id: person.id, email: person.email ?? '', name: person.name },
      organizations,
    };
  }
}
