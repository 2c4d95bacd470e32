import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { Authenticator } from './authenticator.js';
import { AuthGuard } from './auth.guard.js';
import { EarlyAdmission } from './early-admission.js';
import { RouteAccessTable } from './route-access-table.js';

@Module({
  imports: [ApiKeysModule, DiscoveryModule],
  providers: [Authenticator, AuthGuard, EarlyAdmission, RouteAccessTable],
  exports: [Authenticator, AuthGuard, EarlyAdmission, RouteAccessTable],
})
export class AuthModule {}
