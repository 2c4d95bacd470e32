import { Controller, Delete, Get, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { McpRequestHandler, McpSessionHandler } from './mcp-request-handler.js';
import { McpEndpoint } from './mcp-endpoint.js';

/** One agent as an MCP server (streamable HTTP), with the tools of its connections under their composed names. */
@ApiTags('connection proxy')
@ApiParam({ name: 'org', description: 'Organization slug' })
@ApiParam({ name: 'virtualMcpId', format: 'uuid', description: 'The id of the agent' })
@Controller('api/:org/mcp/gateway/:virtualMcpId')
export class GatewayController {
  constructor(
    private readonly messages: McpRequestHandler,
    private readonly sessions: McpSessionHandler,
  ) {}

  @Post()
  @McpEndpoint()
  @ApiOperation({ summary: "Answers one MCP message (JSON-RPC 2.0) from the agent's connections." })
  post(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.messages.handlePost(request, reply, 'gateway');
  }

  @Get()
  @McpEndpoint()
  @ApiOperation({ summary: 'Streams the unsolicited messages of the agent in the session of `Mcp-Session-Id`.' })
  listen(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.listenToSession(request, reply);
  }

  @Delete()
  @McpEndpoint()
  @ApiOperation({ summary: 'Ends the session of `Mcp-Session-Id`.' })
  end(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.endSession(request, reply);
  }
}
