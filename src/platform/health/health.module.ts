import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { HealthController } from './health.controller.js';
import { HealthService } from './health.service.js';

@Module({ imports: [DiscoveryModule], controllers: [HealthController], providers: [HealthService] })
export class HealthModule {}
