import { Module } from '@nestjs/common';
import { ToolsModule } from '../../api/tools/tools.module.js';
import { ProxyModule } from '../proxy.module.js';
import { SelfController } from './self.controller.js';
import { SelfServer } from './self-server.js';

/** The management tools as an MCP server. */
@Module({
  imports: [ProxyModule, ToolsModule],
  controllers: [SelfController],
  providers: [SelfServer],
})
export class SelfModule {}
