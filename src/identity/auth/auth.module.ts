import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { LimitsModule } from '../../platform/limits/limits.module.js';
import { Authenticator } from './authenticator.js';
import { AuthGuard } from './auth.guard.js';
import { EarlyAdmission } from './early-admission.js';
import { ProtectedResource } from './protected-resource.js';
import { ProtectedResourceController } from './protected-resource.controller.js';
import { RouteAccessTable } from './route-access-table.js';

@Module({
  imports: [CredentialsModule, DiscoveryModule, LimitsModule],
  controllers: [ProtectedResourceController],
  providers: [ProtectedResource, Authenticator, AuthGuard, EarlyAdmission, RouteAccessTable],
  exports: [ProtectedResource, Authenticator, AuthGuard, EarlyAdmission, RouteAccessTable],
})
export class AuthModule {}
