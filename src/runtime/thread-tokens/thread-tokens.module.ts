import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { ThreadsModule } from '../threads/threads.module.js';
import { ThreadTokenEntity } from './thread-token.entity.js';
import { ThreadTokenRepository } from './thread-token.repository.js';
import { ThreadTokenService } from './thread-token.service.js';
import { ThreadTokenTools } from './thread-token.tools.js';
import { ThreadTokenVerifier } from './thread-token.verifier.js';

/** Browser tokens: credentials for one thread. */
@Module({
  imports: [TypeOrmModule.forFeature([ThreadTokenEntity]), CredentialsModule, ThreadsModule],
  providers: [ThreadTokenRepository, ThreadTokenService, ThreadTokenTools, ThreadTokenVerifier],
})
export class ThreadTokensModule {}
