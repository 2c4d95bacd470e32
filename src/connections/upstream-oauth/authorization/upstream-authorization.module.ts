import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditEventsModule } from '../../../audit/events/audit-events.module.js';
import { BrowserSessionsModule } from '../../../identity/browser-sessions/browser-sessions.module.js';
import { ConnectionsModule } from '../../connections.module.js';
import { OpenIdModule } from '../../../identity/openid/openid.module.js';
import { NetModule } from '../../../platform/net/net.module.js';
import { UsersModule } from '../../../identity/users/users.module.js';
import { VaultModule } from '../../../platform/vault/vault.module.js';
import { UpstreamServersModule } from '../servers/upstream-servers.module.js';
import { UpstreamTokensModule } from '../tokens/upstream-tokens.module.js';
import { AuthorizationController } from './authorization.controller.js';
import { AuthorizationRightsRepository } from './authorization-rights.repository.js';
import { AuthorizationTools } from './authorization.tools.js';
import { ConnectedAccounts } from './connected-accounts.js';
import { OauthConnections } from './oauth-connections.js';
import { UpstreamClients } from './upstream-clients.js';
import { UpstreamLogInEntity } from './upstream-log-in.entity.js';
import { UpstreamLogInRepository } from './upstream-log-in.repository.js';
import { UpstreamLogIns } from './upstream-log-ins.js';

/** Logs people in at the authorization servers of upstreams. */
@Module({
  imports: [
    TypeOrmModule.forFeature([UpstreamLogInEntity]),
    AuditEventsModule,
    BrowserSessionsModule,
    ConnectionsModule,
    NetModule,
    OpenIdModule,
    UpstreamServersModule,
    UpstreamTokensModule,
    UsersModule,
    VaultModule,
  ],
  controllers: [AuthorizationController],
  providers: [
    AuthorizationRightsRepository,
    AuthorizationTools,
    ConnectedAccounts,
    OauthConnections,
    UpstreamClients,
    UpstreamLogInRepository,
    UpstreamLogIns,
  ],
})
export class UpstreamAuthorizationModule {}
