import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { Authenticator } from './authenticator.js';
import { AuthGuard } from './auth.guard.js';

@Module({
  imports: [ApiKeysModule],
  providers: [Authenticator, AuthGuard],
  exports: [Authenticator, AuthGuard],
})
export class AuthModule {}
