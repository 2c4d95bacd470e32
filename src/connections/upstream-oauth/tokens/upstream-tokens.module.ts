import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ConnectionsModule } from '../../connections.module.js';
import { OpenIdModule } from '../../../identity/openid/openid.module.js';
import { NetModule } from '../../../platform/net/net.module.js';
import { VaultModule } from '../../../platform/vault/vault.module.js';
import { UpstreamServersModule } from '../servers/upstream-servers.module.js';
import { EnterpriseAccounts } from './enterprise-accounts.js';
import { MachineAccounts } from './machine-accounts.js';
import { TokenRefreshes } from './token-refreshes.js';
import { TokenRequests } from './token-requests.js';
import { UpstreamAccounts } from './upstream-accounts.js';
import { UpstreamAuthorizationEntity } from './upstream-authorization.entity.js';
import { UpstreamAuthorizationRepository } from './upstream-authorization.repository.js';

/** The access tokens for upstreams that demand OAuth. */
@Module({
  imports: [
    TypeOrmModule.forFeature([UpstreamAuthorizationEntity]),
    ConnectionsModule,
    NetModule,
    OpenIdModule,
    UpstreamServersModule,
    VaultModule,
  ],
  providers: [
    EnterpriseAccounts,
    MachineAccounts,
    TokenRefreshes,
    TokenRequests,
    UpstreamAccounts,
    UpstreamAuthorizationRepository,
  ],
  exports: [TokenRequests, UpstreamAccounts, UpstreamAuthorizationRepository],
})
export class UpstreamTokensModule {}
