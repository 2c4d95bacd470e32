import { Module } from '@nestjs/common';
import { ToolsModule } from '../../api/tools/tools.module.js';
import { McpHttpModule } from '../http/mcp-http.module.js';
import { SelfController } from './self.controller.js';
import { SelfServer } from './self-server.js';

/** The management tools as an MCP server. */
@Module({
  imports: [McpHttpModule, ToolsModule],
  controllers: [SelfController],
  providers: [SelfServer],
})
export class SelfModule {}
