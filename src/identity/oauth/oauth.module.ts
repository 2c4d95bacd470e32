import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { AuditEventsModule } from '../../audit/events/audit-events.module.js';
import { BrowserSessionsModule } from '../browser-sessions/browser-sessions.module.js';
import { NetModule } from '../../platform/net/net.module.js';
import { PagesModule } from '../../platform/pages/pages.module.js';
import { TrustedIssuersModule } from '../trusted-issuers/trusted-issuers.module.js';
import { UsersModule } from '../users/users.module.js';
import { VaultModule } from '../../platform/vault/vault.module.js';
import { AccessTokenVerifier } from './access-token.verifier.js';
import { AuthorizationServer, OauthRoutes } from './authorization-server.js';
import { ClientDocumentFetch } from './client-document-fetch.js';
import { ConsentController } from './consent.controller.js';
import { Consents } from './consents.js';
import { EnterpriseGrants } from './enterprise-grants.js';
import { MachineClients, OauthResources } from './oauth-resources.js';
import { OauthClients } from './oauth-clients.js';
import { OauthController } from './oauth.controller.js';
import { OauthGrants } from './oauth-grants.js';
import { OauthGrantsRepository } from './oauth-grants.repository.js';
import { OauthTools } from './oauth.tools.js';
import { OauthClientEntity } from './records/oauth-client.entity.js';
import { OauthGrantEntity } from './records/oauth-grant.entity.js';
import { OauthRecordEntity } from './records/oauth-record.entity.js';
import { OauthRecordsRepository } from './records/oauth-records.repository.js';
import { OauthSigningKeyEntity } from './records/oauth-signing-key.entity.js';
import { SigningKeys } from './signing-keys.js';

/** The OAuth 2.1 authorization server, its consent page, and the access tokens that it issues. */
@Module({
  imports: [
    TypeOrmModule.forFeature([OauthRecordEntity, OauthGrantEntity, OauthClientEntity, OauthSigningKeyEntity]),
    ApiKeysModule,
    AuditEventsModule,
    BrowserSessionsModule,
    NetModule,
    PagesModule,
    TrustedIssuersModule,
    UsersModule,
    VaultModule,
  ],
  controllers: [OauthController, ConsentController],
  providers: [
    AccessTokenVerifier,
    AuthorizationServer,
    ClientDocumentFetch,
    Consents,
    EnterpriseGrants,
    MachineClients,
    OauthClients,
    OauthGrants,
    OauthGrantsRepository,
    OauthRecordsRepository,
    OauthResources,
    OauthRoutes,
    OauthTools,
    SigningKeys,
  ],
  exports: [OauthRoutes, SigningKeys],
})
export class OauthModule {}
