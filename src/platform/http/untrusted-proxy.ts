import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

/**
 * Warns once if requests come through a proxy that `TRUST_PROXY` does not name: all its callers then share one address,
 * and with it the limits of one address. Any caller can send the header, so the warning states both reasons.
 */
export function warnOfUntrustedProxy(fastify: FastifyInstance, logger: Logger): void {
  let hasWarned = false;
  fastify.addHook('onRequest', ({ headers }, _reply, done) => {
    if (!hasWarned && headers['x-forwarded-for'] !== undefined) {
      hasWarned = true;
      logger.warn(
        'A request has X-Forwarded-For, which is ignored because TRUST_PROXY is not set. If the service is behind a ' +
          'proxy, all callers share the limits of its address until TRUST_PROXY names it.',
      );
    }
    done();
  });
}
