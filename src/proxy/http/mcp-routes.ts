import { Injectable, Logger, type Type } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
} from 'fastify';
import { AuthGuard } from '../../identity/auth/auth.guard.js';
import { addOnRequest, admissionHook } from '../../identity/auth/early-admission.js';
import { mapMaybePromise } from '../../core/map-maybe-promise.js';
import type { AnonymousConnections } from '../../platform/http/anonymous-connections.js';
import { AnonymousAdmission } from './anonymous-admission.js';
import { ActiveCalls } from './active-calls.js';
import { McpErrorResponder } from './mcp-error-responder.js';
import type { McpEndpointMethod } from './mcp-endpoint.js';
import { PipelineAdditions } from './pipeline-additions.js';

type Serve = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
type Endpoints = Readonly<Record<string | symbol, Serve | undefined>>;

/**
 * Serves the MCP endpoints without Nest's request pipeline, which is more than a tenth of the proxy's cost for a call.
 * It calls the guard, the method and the error filter one after the other, as Nest would. The routes are still declared
 * on controllers, so the OpenAPI document and the table of access contain them.
 *
 * If a module adds a guard, an interceptor, a pipe, an exception filter or a parameter decorator (`PipelineAdditions`),
 * requests take Nest's pipeline instead. On both paths, middleware runs first, the guard runs before the body is read,
 * and errors that no other filter catches are JSON-RPC.
 */
@Injectable()
export class McpRoutes {
  private readonly logger = new Logger(McpRoutes.name);

  constructor(
    private readonly guard: AuthGuard,
    private readonly anonymous: AnonymousAdmission,
    private readonly activeCalls: ActiveCalls,
    private readonly errors: McpErrorResponder,
    private readonly additions: PipelineAdditions,
    private readonly discovery: DiscoveryService,
  ) {}

  /** Call before Nest registers its routes. */
  serveOn(fastify: FastifyInstance, anonymousConnections: AnonymousConnections): void {
    fastify.addHook('onRoute', (route) => {
      const endpoint = route.config?.mcpEndpoint;
      if (endpoint === undefined) return;
      // Answered by the same method, without a body.
      if (route.method === 'GET') fastify.route({ ...route, method: 'HEAD' });
      const answerError: FastifyContextConfig['answerError'] = (thrown, request, reply) =>
        this.answerError(thrown, request, reply);
      route.config = { ...route.config, answerError };
      const serve = this.methodOf(endpoint);
      addOnRequest(route, this.admission(serve !== undefined, anonymousConnections));
      if (serve === undefined) return;
      route.handler = (request, reply) => {
        serve(request, reply).catch((error: unknown) => this.answerError(error, request, reply));
        return undefined;
      };
    });
  }

  private admission(isFast: boolean, anonymousConnections: AnonymousConnections): onRequestHookHandler {
    return admissionHook(
      (request, reply) =>
        mapMaybePromise(this.guard.admitRequest(request, reply, 'mcp'), () => {
          const { principal } = request;
          if (principal === undefined) return this.anonymous.admitAnonymous(request, reply, anonymousConnections);
          anonymousConnections.admitConnection(request.raw.socket);
          return this.activeCalls.trackCall(principal, reply);
        }),
      // In Nest's pipeline, a filter of another module comes first.
      isFast ? (error, request, reply) => this.answerError(error, request, reply) : undefined,
    );
  }

  /** Fastify answers if the error responder itself fails. */
  private answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    try {
      this.errors.respondWithError(error, request, reply);
    } catch (failure) {
      void reply.send(failure);
    }
  }

  /** Undefined if the pipeline has anything in addition to the service's guard and error filter. */
  private methodOf({ controller, name }: McpEndpointMethod): Serve | undefined {
    const added = [...this.additions.toAllRoutes(), ...this.additions.toMethod(controller, name)];
    const instance = this.onlyInstanceOf(controller);
    if (instance === undefined) added.push('an instance of the controller');
    if (instance === undefined || added.length > 0) {
      this.logger.log(`${controller.name}.${String(name)} uses Nest's pipeline because of ${added.join(', ')}`);
      return undefined;
    }
    const method = instance[name];
    if (method === undefined) throw new Error(`${controller.name} has no method ${String(name)}.`);
    return method.bind(instance);
  }

  /** Undefined if the controller is request-scoped, or if another controller extends it. */
  private onlyInstanceOf(controller: Type): Endpoints | undefined {
    const [found, ...more] = this.discovery
      .getControllers()
      .filter(({ metatype }) => metatype === controller || metatype?.prototype instanceof controller);
    const isOnly = found?.metatype === controller && found.isDependencyTreeStatic() && more.length === 0;
    return isOnly ? (found.instance as Endpoints) : undefined;
  }
}
