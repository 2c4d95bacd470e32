import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditEventsModule } from '../../audit/events/audit-events.module.js';
import { LimitsModule } from '../../platform/limits/limits.module.js';
import { UsersModule } from '../users/users.module.js';
import { ApiKeyEntity } from './api-key.entity.js';
import { ApiKeyRepository } from './api-key.repository.js';
import { ApiKeyService } from './api-key.service.js';
import { ApiKeyTools } from './api-key.tools.js';
import { ApiKeyVerifier } from './api-key.verifier.js';

@Module({
  imports: [TypeOrmModule.forFeature([ApiKeyEntity]), AuditEventsModule, LimitsModule, UsersModule],
  providers: [ApiKeyService, ApiKeyRepository, ApiKeyVerifier, ApiKeyTools],
  exports: [ApiKeyService, ApiKeyVerifier],
})
export class ApiKeysModule {}
