import { applyDecorators, Controller, Delete, Get, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../core/access.js';
import { McpRequestHandler, McpSessionHandler } from './mcp-request-handler.js';
import { ToolCallHandler } from './tool-call-handler.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set for the routes of MCP endpoints (`McpRoutes`). */
    isMcpEndpoint?: true;
  }
}

/**
 * Declares a route of the MCP transport: the credential is verified but optional (public tools), the body stays the
 * bytes that were received, and errors are JSON-RPC.
 */
export function McpEndpoint(): MethodDecorator {
  return applyDecorators(Access('mcp'), RouteConfig({ keepsBytes: true, isMcpEndpoint: true }));
}

/** One connection as an MCP server (streamable HTTP). */
@ApiTags('connection proxy')
@ApiParam({ name: 'org', description: 'Organization slug' })
@ApiParam({ name: 'connectionId', format: 'uuid' })
@Controller('api/:org/mcp/:connectionId')
export class DirectController {
  constructor(
    private readonly messages: McpRequestHandler,
    private readonly sessions: McpSessionHandler,
    private readonly calls: ToolCallHandler,
  ) {}

  @Post()
  @McpEndpoint()
  @ApiOperation({ summary: 'Forwards one MCP message (JSON-RPC 2.0) to the upstream of the connection.' })
  post(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.messages.handlePost(request, reply, 'proxy');
  }

  @Get()
  @McpEndpoint()
  @ApiOperation({ summary: 'Streams the unsolicited messages of the upstream in the session of `Mcp-Session-Id`.' })
  listen(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.listenToSession(request, reply);
  }

  @Delete()
  @McpEndpoint()
  @ApiOperation({ summary: 'Ends the session of `Mcp-Session-Id`.' })
  end(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.endSession(request, reply);
  }

  @Post('call-tool/:toolName')
  @McpEndpoint()
  @ApiParam({ name: 'toolName', description: "The upstream's name of the tool" })
  @ApiOperation({
    summary: 'Calls a tool. The body is the JSON object of arguments; the answer is streamed as the upstream sends it.',
  })
  callTool(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.calls.handleToolCall(request, reply);
  }
}

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
