import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../../core/principal.js';

/** A request about a response, and where it is answered. */
export interface ResponseExchange {
  readonly caller: Principal;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}
