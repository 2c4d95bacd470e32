import type { FastifyInstance } from 'fastify';
import { DomainError } from '../../core/domain-error.js';

/**
 * Refuses requests with more than one `Host` header (RFC 9112, section 3.2): a proxy in front of the service may have
 * read another one than Node, which takes the first. Node itself refuses requests without one.
 */
export function registerHostHeader(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', ({ raw }, _reply, done) => {
    if (hasTwoHosts(raw.rawHeaders))
      done(new DomainError('invalid_request', 'The request has more than one Host header.'));
    else done();
  });
}

/** @param headers names and values in turn */
function hasTwoHosts(headers: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}
