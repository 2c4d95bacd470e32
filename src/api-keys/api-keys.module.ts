import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKeyEntity } from './api-key.entity.js';
import { ApiKeyRepository } from './api-key.repository.js';
import { ApiKeyService } from './api-key.service.js';
import { ApiKeyTools } from './api-key.tools.js';
import { ApiKeyVerifier } from './api-key.verifier.js';
import { OpenCredentials } from './open-credentials.js';

@Module({
  imports: [TypeOrmModule.forFeature([ApiKeyEntity])],
  providers: [ApiKeyService, ApiKeyRepository, ApiKeyVerifier, ApiKeyTools, OpenCredentials],
  exports: [ApiKeyService, ApiKeyVerifier, OpenCredentials],
})
export class ApiKeysModule {}
