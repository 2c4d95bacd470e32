import { applyDecorators, type Type } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { Access } from '../../core/access.js';

/** The method of a controller that serves an MCP endpoint: `(request, reply) => Promise<void>`. */
export interface McpEndpointMethod {
  readonly controller: Type;
  readonly name: string | symbol;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set for the routes of MCP endpoints (`McpRoutes`). */
    mcpEndpoint?: McpEndpointMethod;
  }
}

/**
 * Declares a route of the MCP transport: the credential is verified but optional (public tools), the body stays the
 * bytes that were received, and errors are JSON-RPC. The method takes exactly the request and the reply, in this order.
 * `McpRoutes` calls it.
 */
export function McpEndpoint(): MethodDecorator {
  return (target, name, descriptor) => {
    const mcpEndpoint: McpEndpointMethod = { controller: target.constructor as Type, name };
    const config = RouteConfig({ keepsBytes: true, mcpEndpoint });
    applyDecorators(Access('mcp'), config)(target, name, descriptor);
  };
}
