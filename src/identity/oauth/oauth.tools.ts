import { Injectable } from '@nestjs/common';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY } from '../../core/tools/management-tool.js';
import type { Principal } from '../../core/principal.js';
import {
  NoInput,
  OauthClientCreateInput,
  OauthClientDeleteInput,
  OauthClientList,
  OauthClientCreated,
  OauthGrantList,
  OauthGrantRevokeInput,
  OauthRemoved,
} from './oauth.dto.js';
import { OauthClients } from './oauth-clients.js';
import { OauthGrants } from './oauth-grants.js';

@Injectable()
export class OauthTools {
  constructor(
    private readonly grants: OauthGrants,
    private readonly clients: OauthClients,
  ) {}

  @ManagementTool({
    name: 'OAUTH_GRANT_LIST',
    description:
      'Lists the sign-ins of people with OAuth clients in this organization, newest first. Signed in, a person ' +
      'without the permission sees only their own.',
    input: NoInput,
    output: OauthGrantList,
    annotations: READ_ONLY,
    isOpenToPeople: true,
  })
  list(_input: NoInput, caller: Principal): Promise<OauthGrantList> {
    return this.grants.list(caller);
  }

  @ManagementTool({
    name: 'OAUTH_GRANT_REVOKE',
    description:
      'Ends a sign-in: its tokens, the API keys made with it, and its open streams stop within a second. Signed ' +
      'in, a person without the permission can revoke only their own.',
    input: OauthGrantRevokeInput,
    output: OauthRemoved,
    annotations: DESTROYS,
    isOpenToPeople: true,
  })
  async revoke({ id }: OauthGrantRevokeInput, caller: Principal): Promise<OauthRemoved> {
    await this.grants.revoke(id, caller);
    return { success: true, id };
  }

  @ManagementTool({
    name: 'OAUTH_CLIENT_CREATE',
    description:
      'Sets up an OAuth client by hand. With redirect_uris: a public client that can neither register itself nor ' +
      'publish a metadata document; it uses PKCE and has no secret. With grant_types: a program without a browser, ' +
      'which has a secret or keys of its own. With client_credentials it acts for itself, within permissions and ' +
      'within what its maker may do, and it ends with an API key that is made for it. Only this response contains ' +
      'the secret.',
    input: OauthClientCreateInput,
    output: OauthClientCreated,
    annotations: CREATES,
  })
  createClient(input: OauthClientCreateInput, caller: Principal): Promise<OauthClientCreated> {
    return this.clients.create(input, caller);
  }

  @ManagementTool({
    name: 'OAUTH_CLIENT_LIST',
    description: 'Lists the OAuth clients that were set up by hand in this organization.',
    input: NoInput,
    output: OauthClientList,
    annotations: READ_ONLY,
  })
  async listClients(_input: NoInput, caller: Principal): Promise<OauthClientList> {
    return { items: await this.clients.list(caller) };
  }

  @ManagementTool({
    name: 'OAUTH_CLIENT_DELETE',
    description:
      'Deletes an OAuth client that was set up by hand, ends all sign-ins with it, and deletes the API key with which ' +
      'it acted.',
    input: OauthClientDeleteInput,
    output: OauthRemoved,
    annotations: DESTROYS,
  })
  async deleteClient({ id }: OauthClientDeleteInput, caller: Principal): Promise<OauthRemoved> {
    await this.clients.delete(id, caller);
    return { success: true, id };
  }
}
