import { Injectable, Logger } from '@nestjs/common';
import { GUARDS_METADATA, INTERCEPTORS_METADATA, PIPES_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, ModuleRef } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AuthGuard } from '../auth/auth.guard.js';
import { JsonRpcErrorFilter } from './jsonrpc/json-rpc-error.filter.js';
import type { McpEndpointMethod } from './mcp-endpoint.js';

type Serve = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * Serves the MCP endpoints without Nest's way from a request to a controller's method, which is more than a tenth of what
 * the proxy costs a call: guard, method and error filter are called one after the other, as Nest would. All else stays
 * Nest's: the routes are declared on controllers, and known to the OpenAPI document and the table of access.
 *
 * Should anybody add a guard, an interceptor or a pipe to all routes or to one of these, then Nest's way is taken: nothing that a
 * module adds is passed over.
 */
@Injectable()
export class McpRoutes {
  private readonly logger = new Logger(McpRoutes.name);

  constructor(
    private readonly guard: AuthGuard,
    private readonly errors: JsonRpcErrorFilter,
    private readonly modules: ModuleRef,
    private readonly discovery: DiscoveryService,
  ) {}

  /** To be called before Nest registers its routes. */
  serveOn(fastify: FastifyInstance): void {
    fastify.addHook('onRoute', (route) => {
      const endpoint = route.config?.mcpEndpoint;
      const serve = endpoint && this.methodOf(endpoint);
      if (serve === undefined) return;
      const byNest = route.handler;
      route.handler = (request, reply) => {
        // An empty parameter is none: Nest knows what to answer.
        if (hasEmptyParameter(request)) return byNest.call(fastify, request, reply);
        // Should even the filter fail, then that is answered by Fastify.
        this.answer(serve, request, reply).catch((error: unknown) => void reply.send(error));
        return undefined;
      };
    });
  }

  private async answer(serve: Serve, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      const admitted = this.guard.admit(request, 'mcp');
      if (admitted instanceof Promise) await admitted;
      await serve(request, reply);
    } catch (error) {
      this.errors.answer(error, request, reply);
    }
  }

  /** Undefined if more than the guard and the filter stand before it. */
  private methodOf({ controller, name }: McpEndpointMethod): Serve | undefined {
    const instance = this.modules.get<Record<string | symbol, Serve>>(controller, { strict: false });
    const method = instance[name];
    if (method === undefined) throw new Error(`${controller.name} has no method ${String(name)}.`);
    if (!this.hasOtherEnhancers(controller, method)) return method.bind(instance);
    this.logger.log(`${controller.name}.${String(name)} is reached by Nest's way, because something was added to it`);
    return undefined;
  }

  private hasOtherEnhancers(controller: object, method: object): boolean {
    const ofRoute = [controller, method].some((place) =>
      [GUARDS_METADATA, INTERCEPTORS_METADATA, PIPES_METADATA].some((kind) => Reflect.hasMetadata(kind, place)),
    );
    // What `APP_GUARD` and its like provide. Our own guard is one; filters come after the one of the route.
    const ofAll = this.discovery
      .getProviders()
      .filter(({ subtype, instance }) => subtype !== undefined && subtype !== 'filter' && instance !== this.guard);
    return ofRoute || ofAll.length > 0;
  }
}

function hasEmptyParameter({ params }: FastifyRequest): boolean {
  return Object.values(params as Record<string, string>).includes('');
}
