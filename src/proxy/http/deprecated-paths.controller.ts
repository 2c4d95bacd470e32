import { Controller, Delete, Get, Post, Req, Res, Injectable, Logger } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { McpRequestHandler, McpSessionHandler } from './mcp-request-handler.js';
import { ToolCallHandler } from './tool-call-handler.js';
import { McpEndpoint } from './mcp.controller.js';
import { urlWithoutCredentials } from '../../core/credential-forms.js';
import { endpointPathOf } from '../../identity/auth/protected-resource.js';

/** 2026-11-21, when the org-scoped paths were added, in the date format of RFC 9745 §2.1. */
const DEPRECATED_SINCE = '@1795219200';

/** Reports every use of a legacy path as deprecated, in the response and in the log. */
@Injectable()
export class Deprecation {
  private readonly logger = new Logger(Deprecation.name);

  announce(request: FastifyRequest, reply: FastifyReply): void {
    const { connectionId = '', toolName } = request.params as { connectionId?: string; toolName?: string };
    const organization = request.principal?.organization.slug;
    reply.header('deprecation', DEPRECATED_SINCE);
    if (organization !== undefined) {
      const call = toolName === undefined ? '' : `/call-tool/${encodeURIComponent(toolName)}`;
      const successor = urlWithoutCredentials(endpointPathOf(organization, connectionId) + call);
      reply.header('link', `<${successor}>; rel="successor-version"`);
    }
    this.logger.warn(
      {
        request_id: request.id,
        organization,
        route: request.routeOptions.url,
        api_key_id: request.principal?.apiKeyId,
      },
      'A client used a deprecated path: use /api/:org/mcp/:connectionId instead',
    );
  }
}

/** The deprecated unscoped paths. They work like the org-scoped ones, with the organization of the key. */
@ApiExcludeController()
@Controller('mcp/:connectionId')
export class DeprecatedPathsController {
  constructor(
    private readonly messages: McpRequestHandler,
    private readonly sessions: McpSessionHandler,
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
