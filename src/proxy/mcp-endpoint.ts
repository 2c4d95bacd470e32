import { applyDecorators, UseFilters } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { Access } from '../common/access.js';
import { JsonRpcErrorFilter } from './jsonrpc/json-rpc-error.filter.js';

/**
 * A route of the MCP transport: a credential is verified but may be missing (public tools), the body stays as the bytes
 * that came, and errors are JSON-RPC.
 */
export function McpEndpoint(): MethodDecorator {
  return applyDecorators(Access('mcp'), RouteConfig({ keepsBytes: true }), UseFilters(JsonRpcErrorFilter));
}
