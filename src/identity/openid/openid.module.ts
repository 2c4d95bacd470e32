import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { VaultModule } from '../../platform/vault/vault.module.js';
import { IdTokenEntity } from './id-token.entity.js';
import { IdTokenRepository } from './id-token.repository.js';
import { IdTokens } from './id-tokens.js';
import { IdentityAssertions } from './identity-assertions.js';
import { OpenIdClient } from './openid-client.js';

/** The issuer at `OIDC_ISSUER`. */
@Module({
  imports: [TypeOrmModule.forFeature([IdTokenEntity]), VaultModule],
  providers: [IdentityAssertions, IdTokenRepository, IdTokens, OpenIdClient],
  exports: [IdentityAssertions, IdTokens, OpenIdClient],
})
export class OpenIdModule {}
