import { Controller, Delete, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Deprecation } from './deprecation.js';
import { McpRequestHandler } from './mcp-request-handler.js';
import { SessionHandler } from './session-handler.js';
import { ToolCallHandler } from './tool-call-handler.js';
import { McpEndpoint } from './mcp-endpoint.js';

/** The deprecated unscoped paths. They work like the org-scoped ones, with the organization of the key. */
@ApiExcludeController()
@Controller('mcp/:connectionId')
export class LegacyController {
  constructor(
    private readonly messages: McpRequestHandler,
    private readonly sessions: SessionHandler,
    private readonly calls: ToolCallHandler,
    private readonly deprecation: Deprecation,
  ) {}

  @Post()
  @McpEndpoint()
  post(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.deprecation.announce(request, reply);
    return this.messages.handlePost(request, reply, 'legacy');
  }

  @Get()
  @McpEndpoint()
  listen(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.deprecation.announce(request, reply);
    return this.sessions.listenToSession(request, reply);
  }

  @Delete()
  @McpEndpoint()
  end(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.deprecation.announce(request, reply);
    return this.sessions.endSession(request, reply);
  }

  @Post('call-tool/:toolName')
  @McpEndpoint()
  call(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.deprecation.announce(request, reply);
    return this.calls.handleToolCall(request, reply);
  }
}
