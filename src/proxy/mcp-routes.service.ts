import { Injectable, Logger } from '@nestjs/common';
import { GUARDS_METADATA, INTERCEPTORS_METADATA, PIPES_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, ModuleRef } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { AuthGuard } from '../auth/auth.guard.js';
import { addOnRequest, hasEmptyParameter } from '../auth/early-admission.service.js';
import type { StrangerConnections } from '../http/stranger-connections.js';
import { AnonymousAdmission } from './anonymous-admission.service.js';
import { CallsUnderWay } from './calls-under-way.service.js';
import { JsonRpcErrorFilter } from './jsonrpc/json-rpc-error.filter.js';
import type { McpEndpointMethod } from './mcp-endpoint.js';

type Serve = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * Serves the MCP endpoints without Nest's way from a request to a controller's method, which is more than a tenth of what
 * the proxy costs a call: guard, method and error filter are called one after the other, as Nest would. All else stays
 * Nest's: the routes are declared on controllers, and known to the OpenAPI document and the table of access. The guard is
 * called before the body is read, on both ways.
 *
 * Should anybody add a guard, an interceptor or a pipe to all routes or to one of these, then Nest's way is taken: nothing that a
 * module adds is passed over.
 */
@Injectable()
export class McpRoutes {
  private readonly logger = new Logger(McpRoutes.name);

  constructor(
    private readonly guard: AuthGuard,
    private readonly anonymous: AnonymousAdmission,
    private readonly underWay: CallsUnderWay,
    private readonly errors: JsonRpcErrorFilter,
    private readonly modules: ModuleRef,
    private readonly discovery: DiscoveryService,
  ) {}

  /** Call before Nest registers its routes. */
  serveOn(fastify: FastifyInstance, strangers: StrangerConnections): void {
    fastify.addHook('onRoute', (route) => {
      const endpoint = route.config?.mcpEndpoint;
      if (endpoint === undefined) return;
      addOnRequest(route, (request, reply, done) => this.admit(request, reply, strangers, done));
      const serve = this.methodOf(endpoint);
      if (serve === undefined) return;
      route.handler = (request, reply) => {
        serve(request, reply).catch((error: unknown) => this.answerError(error, request, reply));
        return undefined;
      };
    });
  }

  private admit(
    request: FastifyRequest,
    reply: FastifyReply,
    strangers: StrangerConnections,
    done: HookHandlerDoneFunction,
  ): void {
    // An empty parameter is none: Nest knows no such route.
    if (hasEmptyParameter(request)) {
      reply.callNotFound();
      return;
    }
    const pass = (): void => {
      if (request.principal !== undefined) {
        strangers.admit(request.raw.socket);
        this.underWay.add(request.principal, reply);
      }
      done();
    };
    const refuse = (error: unknown): void => this.answerError(error, request, reply);
    try {
      const waited = this.guard.admit(request, 'mcp');
      if (waited instanceof Promise) waited.then(pass, refuse);
      else if (request.principal !== undefined) pass();
      else this.anonymous.admit(request, reply, strangers).then(pass, refuse);
    } catch (error) {
      refuse(error);
    }
  }

  /** Should even the filter fail, then that is answered by Fastify. */
  private answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    try {
      this.errors.answer(error, request, reply);
    } catch (failure) {
      void reply.send(failure);
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
