import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { AuditModule } from '../../audit/calls/audit.module.js';
import { ToolRegistry } from './tool-registry.js';
import { ToolsController } from './tools.controller.js';
import { ToolsService } from './tools.service.js';

@Module({
  imports: [DiscoveryModule, AuditModule],
  controllers: [ToolsController],
  providers: [ToolRegistry, ToolsService],
  exports: [ToolRegistry, ToolsService],
})
export class ToolsModule {}
