import { Injectable } from '@nestjs/common';
import { IsBoolean, IsString } from 'class-validator';
import { IdInput } from '../../../core/validation/item-input.js';
import type { Principal } from '../../../core/principal.js';
import { DESTROYS, ManagementTool, READ_ONLY } from '../../../core/tools/management-tool.js';
import { AppConfig } from '../../../core/config/app-config.js';
import { pageOf } from '../authorization-page.js';
import { ConnectedAccounts } from './connected-accounts.js';
import { OauthConnections } from './oauth-connections.js';

class AuthorizableConnectionInput extends IdInput {}

class AuthorizationPageAnswer {
  /** The page on which a person logs in at the upstream; it does not change. */
  @IsString()
  authorization_url: string;
}

class DeauthorizedAnswer {
  @IsBoolean()
  ok: boolean;
}

@Injectable()
export class AuthorizationTools {
  constructor(
    private readonly connections: OauthConnections,
    private readonly accounts: ConnectedAccounts,
    private readonly config: AppConfig,
  ) {}

  @ManagementTool({
    name: 'CONNECTION_AUTHORIZE',
    description:
      'Returns the page on which a person authorizes the account of a connection whose auth.type is oauth. For ' +
      'auth.account connection, that person needs the permission CONNECTION_AUTHORIZE; for member, each member ' +
      'authorizes an own account. For auth.type enterprise, the page on which a person signs in again with OIDC_ISSUER.',
    input: AuthorizableConnectionInput,
    output: AuthorizationPageAnswer,
    annotations: READ_ONLY,
  })
  async authorize({ id }: AuthorizableConnectionInput, caller: Principal): Promise<AuthorizationPageAnswer> {
    const connection = await this.connections.requireWithPage(caller.organization.id, id);
    return { authorization_url: pageOf(this.config.baseUrl, connection.id) };
  }

  @ManagementTool({
    name: 'CONNECTION_DEAUTHORIZE',
    description:
      'Forgets the account of a connection whose auth.type is oauth, enterprise or client_credentials, and revokes its ' +
      "tokens at the upstream. For auth.account member, the caller's own account. For client_credentials, the next " +
      'call gets another token.',
    input: AuthorizableConnectionInput,
    output: DeauthorizedAnswer,
    annotations: DESTROYS,
  })
  async deauthorize({ id }: AuthorizableConnectionInput, caller: Principal): Promise<DeauthorizedAnswer> {
    await this.accounts.disconnect(id, caller);
    return { ok: true };
  }
}
