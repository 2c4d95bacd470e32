import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { RouteAccess } from './access.js';
import type { Principal } from './principal.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the auth guard on every route that requires a credential. */
    principal?: Principal;
    /** The access that the auth guard has granted: it verifies a request's credential only once. */
    admittedFor?: RouteAccess;
  }
}

/** The verified caller of an `organization` or `tool` route. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Principal => {
  const { principal } = context.switchToHttp().getRequest<FastifyRequest>();
  if (principal === undefined) throw new Error('A public route has no authenticated caller.');
  return principal;
});
