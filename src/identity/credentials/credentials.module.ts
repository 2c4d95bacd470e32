import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { CredentialSources } from './credential-source.js';
import { OpenCredentials } from './open-credentials.js';

@Module({
  imports: [DiscoveryModule],
  providers: [CredentialSources, OpenCredentials],
  exports: [CredentialSources, OpenCredentials],
})
export class CredentialsModule {}
