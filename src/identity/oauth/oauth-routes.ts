import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { addOnRequest } from '../auth/early-admission.js';
import { AuthorizationServer } from './authorization-server.js';

/**
 * Hands requests to the authorization server before their bodies are read, because the library reads them from the
 * socket.
 */
@Injectable()
export class OauthRoutes {
  constructor(private readonly server: AuthorizationServer) {}

  /** Call before Nest registers its routes. */
  serveOn(fastify: FastifyInstance): void {
    fastify.addHook('onRoute', (route) => {
      if (route.config?.isOauth !== true) return;
      addOnRequest(route, (request, reply, done) => {
        // Fastify runs no further hook for a reply that is answered elsewhere.
        const onError = (error: Error): void => done(error);
        this.server.answerRequest(request, reply).then(undefined, onError);
      });
    });
  }
}
