import { Module } from '@nestjs/common';
import { NetModule } from '../../platform/net/net.module.js';
import { IssuerKeys } from './issuer-keys.js';
import { IssuerMembersRepository } from './issuer-members.repository.js';
import { IssuerTokenVerifier } from './issuer-token.verifier.js';

/** Bearer tokens of the organization's own OpenID providers (`TRUSTED_ISSUERS`). */
@Module({
  imports: [NetModule],
  providers: [IssuerKeys, IssuerMembersRepository, IssuerTokenVerifier],
})
export class TrustedIssuersModule {}
