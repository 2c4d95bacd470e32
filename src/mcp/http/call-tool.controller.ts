import { Controller, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ToolCallHandler } from './tool-call-handler.js';
import { McpEndpoint } from './mcp-endpoint.js';

/** Calls one tool without an envelope, for long operations and large results. */
@ApiTags('connection proxy')
@ApiParam({ name: 'org', description: 'Organization slug' })
@ApiParam({ name: 'connectionId', format: 'uuid' })
@ApiParam({ name: 'toolName', description: "The upstream's own name of the tool" })
@Controller('api/:org/mcp/:connectionId/call-tool/:toolName')
export class CallToolController {
  constructor(private readonly calls: ToolCallHandler) {}

  @Post()
  @McpEndpoint()
  @ApiOperation({ summary: 'Calls a tool; the body is its arguments, the answer streams as the upstream sends it.' })
  call(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.calls.handle(request, reply);
  }
}
