import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { Access } from '../../core/access.js';

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
