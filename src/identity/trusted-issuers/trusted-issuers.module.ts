import { Module } from '@nestjs/common';
import { NetModule } from '../../platform/net/net.module.js';
import { IdJagVerifier } from './id-jag.verifier.js';
import { IssuerKeys } from './issuer-keys.js';
import { IssuerMembersRepository } from './issuer-members.repository.js';
import { IssuerTokenVerifier } from './issuer-token.verifier.js';

/** Bearer tokens and identity assertions of the organization's own OpenID providers (`TRUSTED_ISSUERS`). */
@Module({
  imports: [NetModule],
  providers: [IdJagVerifier, IssuerKeys, IssuerMembersRepository, IssuerTokenVerifier],
  exports: [IdJagVerifier],
})
export class TrustedIssuersModule {}
