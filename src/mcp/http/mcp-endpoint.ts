import { applyDecorators, type Type } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { Access } from '../../common/access.js';

/** The method of a controller that serves an MCP endpoint: `(request, reply) => Promise<void>`. */
export interface McpEndpointMethod {
  readonly controller: Type;
  readonly name: string | symbol;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route is an MCP endpoint (`McpRoutes`). */
    mcpEndpoint?: McpEndpointMethod;
  }
}

/**
 * A route of the MCP transport: a credential is verified but may be missing (public tools), the body stays as the bytes
 * that came, and errors are JSON-RPC. The method gets the request and the reply, in this order, and nothing else; see
 * `McpRoutes` for how it is reached.
 */
export function McpEndpoint(): MethodDecorator {
  return (target, name, descriptor) => {
    const mcpEndpoint: McpEndpointMethod = { controller: target.constructor as Type, name };
    const config = RouteConfig({ keepsBytes: true, mcpEndpoint });
    applyDecorators(Access('mcp'), config)(target, name, descriptor);
  };
}
